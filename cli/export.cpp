// SPDX-License-Identifier: MIT
// export: a table of one campaign as CSV or JSON, to a file or to standard output.
#include "storage/export.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "base/atomic_file.h"
#include "base/files.h"
#include "cli/commands.h"
#include "coordinator/server/server.h"
#include "storage/artifact_store.h"

namespace tunefarm::cli {
namespace {

/// A step document larger than this is not a prepare's.
constexpr std::int64_t kDocumentLimit = 4LL << 30;

Status to_file(storage::Exporter& exporter, const storage::ExportRequest& request,
               const storage::StepDocuments& documents, const std::string& path) {
    TUNEFARM_ASSIGN(AtomicFile file, AtomicFile::create(path));
    TUNEFARM_TRY(exporter.write(request, documents, [&](std::string_view bytes) { return file.write(bytes); }));
    return file.commit();
}

/// By way of a file without a name: a pager that nobody scrolls must not hold the database's snapshot.
Status to_standard_output(storage::Exporter& exporter, const storage::ExportRequest& request,
                          const storage::StepDocuments& documents) {
    const char* tmp = std::getenv("TMPDIR");
    std::string name = std::string(tmp != nullptr && *tmp != 0 ? tmp : "/tmp") + "/tunefarm-export-XXXXXX";
    const UniqueFd spool(::mkstemp(name.data()));
    if (!spool.valid()) return errno_error(name);
    ::unlink(name.c_str());
    TUNEFARM_TRY(exporter.write(request, documents, [&](std::string_view bytes) {
        const Status written = write_all(spool.get(), bytes);
        return written.ok() ? Status() : Status(written.error().in(name));
    }));
    if (::lseek(spool.get(), 0, SEEK_SET) != 0) return errno_error(name);
    std::array<char, 1U << 16U> buffer{};
    while (true) {
        const ssize_t n = ::read(spool.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(name);
        if (n == 0) return {};
        const Status written = write_all(STDOUT_FILENO, std::string_view(buffer.data(), static_cast<std::size_t>(n)));
        if (!written.ok()) return written.error().in("standard output");
    }
}

Status export_one(const ExportOptions& options) {
    auto exporter = storage::Exporter::open(server::database_path(options.directory));
    if (!exporter.ok() && exporter.error().kind == ErrorKind::kNotFound) return no_results(options.directory);
    if (!exporter.ok()) return exporter.error();
    storage::ExportRequest request;
    request.what = options.what;
    request.format = options.format == "json" ? storage::ExportFormat::kJson : storage::ExportFormat::kCsv;
    request.campaign.id = CampaignId(options.campaign);
    std::unique_ptr<storage::ArtifactStore> store;
    const storage::StepDocuments documents = [&](const Digest& digest) -> Result<std::string> {
        if (!store) {
            TUNEFARM_ASSIGN(store, storage::ArtifactStore::open(server::artifacts_path(options.directory)));
        }
        Result<std::string> text = store->get(digest, kDocumentLimit);
        if (!text.ok() && text.error().kind == ErrorKind::kNotFound) {
            return Error{ErrorKind::kNotFound, "`gc` has removed it; the same `run` again makes it again"};
        }
        return text;
    };
    return options.output.empty() ? to_standard_output(**exporter, request, documents)
                                  : to_file(**exporter, request, documents, options.output);
}

}  // namespace

int export_table(const ExportOptions& options) {
    const Status done = export_one(options);
    return done.ok() ? kExitOk : fail(done.error());
}

}  // namespace tunefarm::cli
