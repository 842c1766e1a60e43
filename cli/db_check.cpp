// SPDX-License-Identifier: MIT
// db check: each file by itself, and each find-db against the perf-db of the same base name among the files.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/db.h"
#include "cli/db_output.h"
#include "storage/miopen/check.h"

namespace tunefarm::cli {

namespace {

using miopen::CheckReport;
using miopen::DatabaseFile;
using miopen::FileKind;

constexpr std::size_t kShown = 20;

bool is_perf(const DatabaseFile& file) {
    return file.kind == FileKind::kPerfText || file.kind == FileKind::kPerfSqlite;
}

/// The perf-db that belongs to a find-db: of the same base name, or the only one where names say nothing.
const DatabaseFile* partner(const std::vector<DatabaseFile>& files, const DatabaseFile& find) {
    if (find.kind != FileKind::kFindDb || (find.name && find.name->fusion)) return nullptr;
    const DatabaseFile* only = nullptr;
    std::size_t perf_dbs = 0;
    for (const DatabaseFile& file : files) {
        if (!is_perf(file) || (file.name && file.name->batchnorm)) continue;
        ++perf_dbs;
        only = &file;
        if (find.name && file.name && find.name->base == file.name->base) return &file;
    }
    const bool names_differ = only != nullptr && find.name && only->name;
    return perf_dbs == 1 && !names_differ ? only : nullptr;
}

std::string text_of(const CheckReport& report) {
    const bool kernels = report.kind == FileKind::kKernelDb;
    std::string text = fmt::format("{}: {}, ", report.path, to_string(report.kind));
    text += kernels
                ? fmt::format("{} rows, {} good\n", report.keys, report.items)
                : fmt::format("{} keys {}, {} items{}\n", report.keys, report.keys_sorted ? "in order" : "not in order",
                              report.items, report.items_by_time ? "" : ", some keys' items not by time");
    if (!report.perf_db.empty()) {
        const miopen::References total = report.total();
        text += fmt::format("  {} of {} items with a tunable solver have their row in {}, {} missing\n", total.found,
                            total.found + total.missing, report.perf_db, total.missing);
    } else if (report.kind == FileKind::kFindDb) {
        text += "  no perf-db of the same name was named: its rows are not checked\n";
    }
    text += to_text(report.issues, kShown);
    return text + fmt::format("  {} errors, {} warnings\n", report.issues.errors(), report.issues.warnings());
}

Json json_of(const CheckReport& report) {
    Json json = {{"path", report.path},
                 {"kind", to_string(report.kind)},
                 {"keys", report.keys},
                 {"items", report.items},
                 {"legacy_items", report.legacy_items},
                 {"keys_sorted", report.keys_sorted},
                 {"items_by_time", report.items_by_time},
                 {"errors", report.issues.errors()},
                 {"warnings", report.issues.warnings()},
                 {"issues", to_json(report.issues)},
                 {"perf_db", nullptr}};
    if (report.perf_db.empty()) return json;
    Json solvers = Json::object();
    for (const auto& [solver, count] : report.references) {
        solvers[solver] = {{"found", count.found}, {"missing", count.missing}};
    }
    json["perf_db"] = {{"path", report.perf_db},
                       {"found", report.total().found},
                       {"missing", report.total().missing},
                       {"solvers", solvers}};
    return json;
}

}  // namespace

int db_check(const DbReadOptions& options) {
    std::vector<DatabaseFile> files;
    for (const std::string& path : options.files) {
        Result<DatabaseFile> file = miopen::open_database(path);
        if (!file.ok()) return fail(file.error());
        files.push_back(std::move(*file));
    }
    std::vector<CheckReport> reports;
    for (DatabaseFile& file : files) {
        Result<CheckReport> report = miopen::check_database(file);
        if (!report.ok()) return fail(report.error());
        if (const DatabaseFile* perf = partner(files, file)) miopen::check_references(file.db(), perf->db(), *report);
        reports.push_back(std::move(*report));
    }
    bool good = true;
    Json json = Json::array();
    std::string text;
    for (const CheckReport& report : reports) {
        good = good && report.issues.errors() == 0;
        if (options.json) {
            json.push_back(json_of(report));
        } else {
            text += text_of(report);
        }
    }
    const int code = options.json ? print(Json{{"files", json}}) : print(text);
    return code != kExitOk || good ? code : kExitStepFailed;
}

}  // namespace tunefarm::cli
