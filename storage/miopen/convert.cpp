// SPDX-License-Identifier: MIT
#include "storage/miopen/convert.h"

#include <utility>

#include "storage/miopen/find_item.h"
#include "storage/miopen/kernel_db.h"
#include "storage/miopen/perf_sqlite.h"

namespace tunefarm::miopen {

namespace {

Result<std::string> kernel_bytes(DatabaseFile& file, bool drop_ignored) {
    TUNEFARM_ASSIGN(KernelDbWriter writer, KernelDbWriter::create());
    Issues issues;
    auto& db = std::get<storage::Database>(file.content);
    TUNEFARM_TRY(for_each_kernel(db, file.path, [&](KernelRow& row) -> Status {
        const std::int64_t before = issues.errors();
        check_kernel(row, file.path, issues);
        if (issues.errors() > before) return {};
        const Status added = writer.add(row);
        return added.ok() ? added : added.error().in(file.path + ":" + std::to_string(row.id));
    }));
    TUNEFARM_TRY(require_clean(issues, drop_ignored));
    return writer.finish();
}

Error does_not_become(const std::string& file, const std::string& from, FileKind target) {
    return Error{ErrorKind::kInput, file + ": a " + from + " does not become a " + to_string(target)};
}

}  // namespace

Status require_clean(const Issues& issues, bool drop_ignored) {
    if (issues.errors() == 0 || drop_ignored) return {};
    for (const Issue& issue : issues.kept()) {
        if (issue.severity != Issue::Severity::kError) continue;
        return Error{ErrorKind::kInput, to_string(issue) + " (" + std::to_string(issues.errors()) +
                                            " errors in all; `db check` lists them, --drop-ignored goes on without "
                                            "what the library ignores)"};
    }
    return Error{ErrorKind::kInput, std::to_string(issues.errors()) + " errors; `db check` lists them"};
}

Result<std::string> to_bytes(const TuningDb& db, FileKind target, bool drop_ignored) {
    TUNEFARM_TRY(require_clean(db.issues, drop_ignored));
    if (db.kind() == DbKind::kFind) {
        if (target != FileKind::kFindDb) return does_not_become(db.file(), "find-db", target);
        TuningDb now = to_format_2(db);
        TUNEFARM_TRY(require_clean(now.issues, drop_ignored));
        sort(now);
        return to_text(now);
    }
    if (target == FileKind::kPerfSqlite) return to_perf_sqlite(db);
    if (target != FileKind::kPerfText) return does_not_become(db.file(), "perf-db", target);
    TuningDb sorted = db;
    sort(sorted);
    return to_text(sorted);
}

Result<std::string> to_bytes(DatabaseFile& file, FileKind target, bool drop_ignored) {
    if (!file.is_kernel_db()) return to_bytes(file.db(), target, drop_ignored);
    if (target != FileKind::kKernelDb) return does_not_become(file.path, "kernel-db", target);
    return kernel_bytes(file, drop_ignored);
}

}  // namespace tunefarm::miopen
