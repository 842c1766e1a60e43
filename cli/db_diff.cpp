// SPDX-License-Identifier: MIT
// db diff: by each key's fastest solver (find-db), by rows (perf-db).
#include "storage/miopen/diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/db.h"
#include "cli/db_output.h"
#include "storage/miopen/database_file.h"

namespace tunefarm::cli {

namespace {

using miopen::Change;
using miopen::DatabaseFile;
using miopen::Diff;

constexpr std::array kKinds = {Change::Kind::kAdded,  Change::Kind::kRemoved, Change::Kind::kFaster,
                               Change::Kind::kSlower, Change::Kind::kWithin,  Change::Kind::kParameters};

std::string line_of(const Change& change, bool find) {
    const std::string key = fmt::format("  {}\n      ", change.key);
    if (!find) {
        return key + fmt::format("{}: {} -> {}\n", change.after_solver, change.before.empty() ? "-" : change.before,
                                 change.after.empty() ? "-" : change.after);
    }
    const auto side = [](double ms, const std::string& solver) {
        return solver.empty() ? std::string("-") : fmt::format("{:g} ms {}", ms, solver);
    };
    std::string line =
        key + side(change.before_ms, change.before_solver) + " -> " + side(change.after_ms, change.after_solver);
    if (change.before_ms > 0 && change.after_ms > 0) {
        line += fmt::format("  ({:+.1f} %)", 100 * (change.after_ms / change.before_ms - 1));
    }
    return line + "\n";
}

/// By how much the time changed, for the order in which people see changes: the largest first.
double magnitude(const Change& change) {
    if (change.before_ms <= 0 || change.after_ms <= 0) return 0;
    return std::max(change.before_ms / change.after_ms, change.after_ms / change.before_ms);
}

std::string text_of(const Diff& diff, const DbDiffOptions& options, bool find) {
    std::string text = fmt::format("{} -> {}\n", options.before, options.after);
    text += fmt::format("{} {} in both, {} of them the same ({} byte for byte)\n", diff.common, find ? "keys" : "rows",
                        diff.equal, diff.identical);
    if (find) {
        text +=
            fmt::format("times of these: {:.4f} x before (geometric mean); another solver is the fastest of {} keys\n",
                        diff.time_ratio, diff.solver_changes());
    }
    for (const Change::Kind kind : kKinds) {
        std::vector<const Change*> changes;
        for (const Change& change : diff.changes) {
            if (change.kind == kind) changes.push_back(&change);
        }
        if (changes.empty()) continue;
        std::ranges::stable_sort(changes, std::greater<>(), [](const Change* change) { return magnitude(*change); });
        const char* what =
            kind == Change::Kind::kWithin ? "another fastest solver, within the threshold" : to_string(kind);
        text += fmt::format("{}: {}\n", what, changes.size());
        const std::size_t shown = std::min(options.limit, changes.size());
        for (std::size_t i = 0; i < shown; ++i) text += line_of(*changes[i], find);
        if (changes.size() > shown) text += fmt::format("  … and {} more (--limit, --json)\n", changes.size() - shown);
    }
    return text;
}

Json json_of(const Diff& diff, const DbDiffOptions& options, bool find) {
    Json json = {{"before", options.before}, {"after", options.after}, {"threshold_percent", options.threshold_percent},
                 {"common", diff.common},    {"equal", diff.equal},    {"identical", diff.identical}};
    if (find) json["time_ratio"] = diff.time_ratio;
    for (const Change::Kind kind : kKinds) json[to_string(kind)] = diff.count(kind);
    json["solver_changed"] = diff.solver_changes();
    Json changes = Json::array();
    for (const Change& change : diff.changes) {
        Json entry = {{"change", to_string(change.kind)}, {"key", change.key}};
        if (find) {
            entry["solver_changed"] = change.solver_changed;
            entry["before_solver"] = change.before_solver;
            entry["after_solver"] = change.after_solver;
            entry["before_ms"] = change.before_ms;
            entry["after_ms"] = change.after_ms;
        } else {
            entry["solver"] = change.after_solver;
            entry["before"] = change.before;
            entry["after"] = change.after;
        }
        changes.push_back(std::move(entry));
    }
    json["changes"] = std::move(changes);
    return json;
}

}  // namespace

int db_diff(const DbDiffOptions& options) {
    const Result<DatabaseFile> before = miopen::open_database(options.before);
    if (!before.ok()) return fail(before.error());
    const Result<DatabaseFile> after = miopen::open_database(options.after);
    if (!after.ok()) return fail(after.error());
    if (before->is_kernel_db() || after->is_kernel_db()) {
        return fail(Error{ErrorKind::kUnsupported, "kernel-dbs are not compared by `db diff`"});
    }
    warn(before->db().issues);
    warn(after->db().issues);
    const Result<Diff> diff = miopen::diff(before->db(), after->db(), options.threshold_percent / 100);
    if (!diff.ok()) return fail(diff.error());
    const bool find = before->db().kind() == miopen::DbKind::kFind;
    return options.json ? print(json_of(*diff, options, find)) : print(text_of(*diff, options, find));
}

}  // namespace tunefarm::cli
