// SPDX-License-Identifier: MIT
// gc: gives back the disk space of artifacts that no unfinished step, result or cached action needs.
#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "coordinator/server/server.h"
#include "storage/artifact_store.h"
#include "storage/live_artifacts.h"
#include "storage/writer.h"

namespace tunefarm::cli {
namespace {

Result<storage::GcTotals> collect(const GcOptions& options) {
    const std::string path = server::database_path(options.directory);
    {
        // Fails for a directory without results before anything is created in it.
        TUNEFARM_ASSIGN(const storage::Database there, storage::Database::open_readonly(path));
    }
    // Holding the writer's lock keeps a coordinator from making artifacts whose rows are not there yet.
    TUNEFARM_ASSIGN(const auto writer, storage::Writer::open(path));
    TUNEFARM_ASSIGN(storage::Database database, storage::Database::open_readonly(path));
    TUNEFARM_ASSIGN(const auto store, storage::ArtifactStore::open(server::artifacts_path(options.directory)));
    storage::LiveOptions live;
    live.cached_actions = !options.drop_cache;
    TUNEFARM_ASSIGN(const std::vector<Digest> needed, storage::live_artifacts(database, live));
    storage::GcOptions gc;
    gc.dry_run = options.dry_run;
    gc.grace = Micros{0};
    return store->gc([&](const Digest& digest) { return std::binary_search(needed.begin(), needed.end(), digest); },
                     gc);
}

}  // namespace

int gc(const GcOptions& options) {
    const auto totals = collect(options);
    if (!totals.ok()) return fail(totals.error().in(options.directory));
    const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / 1048576.0; };
    fmt::print("{} {} artifacts ({:.1f} MiB) and {} abandoned uploads; {} artifacts ({:.1f} MiB) stay\n",
               options.dry_run ? "would remove" : "removed", totals->removed, mib(totals->removed_bytes),
               totals->stale_uploads, totals->kept, mib(totals->kept_bytes));
    return kExitOk;
}

}  // namespace tunefarm::cli
