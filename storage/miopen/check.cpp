// SPDX-License-Identifier: MIT
#include "storage/miopen/check.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "storage/miopen/find_item.h"
#include "storage/miopen/kernel_db.h"
#include "storage/miopen/problem.h"
#include "storage/miopen/solvers.h"

namespace tunefarm::miopen {

namespace {

using Severity = Issue::Severity;

/// An hour for one kernel, and more workspace than any GPU has: a value beyond is none that was measured.
constexpr double kLongestMs = 3.6e6;
constexpr std::int64_t kLargestWorkspace = 1LL << 40;

/// nullptr, or what no convolution can have.
const char* impossible_size(const ConvProblem& problem) {
    const auto positive = [](std::initializer_list<std::int64_t> values) {
        return std::ranges::all_of(values, [](std::int64_t value) { return value > 0; });
    };
    if (!positive({problem.in_channels, problem.out_channels, problem.batch, problem.group_count})) {
        return "channels, batch or groups are not positive";
    }
    if (!positive({problem.in.d, problem.in.h, problem.in.w})) return "an input size is not positive";
    if (!positive({problem.filter.d, problem.filter.h, problem.filter.w})) return "a filter size is not positive";
    if (problem.complete() && !positive({problem.out.d, problem.out.h, problem.out.w})) {
        return "an output size is not positive";
    }
    if (!positive({problem.stride.h, problem.stride.w, problem.dilation.h, problem.dilation.w})) {
        return "a stride or dilation is not positive";
    }
    if (problem.in_channels % problem.group_count != 0 || problem.out_channels % problem.group_count != 0) {
        return "the groups do not divide the channels";
    }
    return nullptr;
}

class RecordChecker {
  public:
    RecordChecker(const TuningDb& db, bool convolutions, CheckReport& report)
        : db_(db), convolutions_(convolutions), report_(report) {}

    void check(const Record& record) {
        line_ = record.line;
        char direction = 0;
        if (convolutions_) {
            const Result<ConvProblem> problem =
                db_.kind() == DbKind::kFind ? parse_find_key(record.key) : parse_perf_key(record.key);
            if (!problem.ok()) {
                add(Severity::kError, problem.error().message);
            } else {
                direction = problem->direction;
                if (const char* wrong = impossible_size(*problem)) {
                    add(Severity::kError, "key '" + std::string(record.key) + "': " + wrong);
                }
            }
        }
        double last_time = 0;
        for (const Item& item : record.items) {
            if (db_.kind() == DbKind::kFind) {
                check_find_item(item, direction, last_time);
            } else {
                check_solver(item.id);
            }
        }
    }

  private:
    void add(Severity severity, std::string message) {
        report_.issues.add({severity, db_.file(), line_, std::move(message)});
    }

    void check_find_item(const Item& item, char direction, double& last_time) {
        const Result<FindItem> parsed = parse_find_item(item);
        if (!parsed.ok()) return add(Severity::kError, parsed.error().message);
        report_.legacy_items += parsed->legacy ? 1 : 0;
        check_solver(parsed->solver);
        const std::string who = std::string(parsed->solver.substr(0, 100)) + ": ";
        if (parsed->time_ms <= 0 || parsed->time_ms > kLongestMs) {
            add(Severity::kError, who + "a time of " + std::string(parsed->time_text.substr(0, 40)) + " ms is none");
        }
        if (parsed->workspace > kLargestWorkspace) {
            add(Severity::kError, who + "no GPU has a workspace of " + std::to_string(parsed->workspace) + " bytes");
        }
        const std::optional<char> algorithm = algorithm_direction(parsed->algorithm);
        if (convolutions_ && !algorithm) {
            add(Severity::kError,
                who + "'" + std::string(parsed->algorithm.substr(0, 80)) + "' is no algorithm of MIOpen");
        } else if (algorithm && direction != 0 && *algorithm != direction) {
            add(Severity::kError, who + "an algorithm of another direction than the key's");
        }
        if (parsed->time_ms < last_time) report_.items_by_time = false;
        last_time = parsed->time_ms;
    }

    /// Each unknown name once: a file of a newer library is full of them.
    void check_solver(std::string_view solver) {
        if (!convolutions_ || find_solver(solver) || !unknown_.insert(solver).second) return;
        add(Severity::kWarning, "MIOpen 3.3 has no solver '" + std::string(solver.substr(0, 100)) + "'");
    }

    const TuningDb& db_;
    const bool convolutions_;
    CheckReport& report_;
    std::int64_t line_ = 0;
    std::unordered_set<std::string_view> unknown_;
};

Status check_kernels(DatabaseFile& file, CheckReport& report) {
    auto& db = std::get<storage::Database>(file.content);
    const bool user = file.name && file.name->user;
    if (!user && file.journal_mode != "delete" && file.journal_mode != "off") {
        report.issues.add({Severity::kError, file.path, 0,
                           "journal_mode is " + file.journal_mode + ": a system database needs delete or off"});
    }
    TUNEFARM_ASSIGN(const std::int64_t index,
                    db.query_integer("SELECT count(*) FROM pragma_index_list('kern_db') WHERE \"unique\" = 1"));
    if (index == 0) {
        report.issues.add({Severity::kError, file.path, 0, "no unique index over kernel_name and kernel_args"});
    }
    return for_each_kernel(db, file.path, [&](KernelRow& row) -> Status {
        const std::int64_t before = report.issues.errors();
        check_kernel(row, file.path, report.issues);
        ++report.keys;
        report.items += report.issues.errors() == before ? 1 : 0;
        return {};
    });
}

}  // namespace

References CheckReport::total() const {
    References sum;
    for (const auto& [solver, count] : references) {
        sum.found += count.found;
        sum.missing += count.missing;
    }
    return sum;
}

Result<CheckReport> check_database(DatabaseFile& file) {
    CheckReport report;
    report.path = file.path;
    report.kind = file.kind;
    if (file.is_kernel_db()) {
        TUNEFARM_TRY(check_kernels(file, report));
        return report;
    }
    const TuningDb& db = file.db();
    report.issues = db.issues;
    report.keys = static_cast<std::int64_t>(db.records.size());
    const bool convolutions = !file.name || (!file.name->fusion && !file.name->batchnorm);
    RecordChecker checker(db, convolutions, report);
    for (const Record& record : db.records) {
        report.items += static_cast<std::int64_t>(record.items.size());
        checker.check(record);
    }
    if (const Record* place = first_unsorted(db)) {
        report.keys_sorted = false;
        report.issues.add({Severity::kWarning, file.path, place->line, "the keys are not sorted from here on"});
    }
    if (report.legacy_items > 0) {
        report.issues.add(
            {Severity::kWarning, file.path, 0,
             std::to_string(report.legacy_items) + " items in the legacy format 1.0; `db convert` rewrites them"});
    }
    return report;
}

void check_references(const TuningDb& find, const TuningDb& perf, CheckReport& report) {
    report.perf_db = perf.file();
    std::unordered_map<std::string_view, const Record*> rows;
    std::unordered_set<std::string_view> tuned;
    rows.reserve(perf.records.size());
    for (const Record& record : perf.records) {
        rows.emplace(record.key, &record);
        for (const Item& item : record.items) tuned.insert(item.id);
    }
    std::string key;
    for (const Record& record : find.records) {
        const Result<ConvProblem> problem = parse_find_key(record.key);
        if (!problem.ok()) continue;
        to_perf_key(*problem, key);
        const auto row = rows.find(key);
        for (const Item& item : record.items) {
            const Result<FindItem> parsed = parse_find_item(item);
            if (!parsed.ok()) continue;
            const bool found = row != rows.end() && std::ranges::any_of(row->second->items, [&](const Item& tuning) {
                                   return tuning.id == parsed->solver;
                               });
            const std::optional<SolverKind> kind = find_solver(parsed->solver);
            if (kind ? *kind == SolverKind::kTunable : tuned.contains(parsed->solver)) {
                References& count = report.references[std::string(parsed->solver)];
                ++(found ? count.found : count.missing);
                if (found) continue;
                report.issues.add({Severity::kError, find.file(), record.line,
                                   std::string(parsed->solver) + " is tunable, but " + perf.file() +
                                       " has no row for it under " + key});
            } else if (found && kind == SolverKind::kNotTunable) {
                report.issues.add({Severity::kError, perf.file(), row->second->line,
                                   std::string(parsed->solver) + " has no parameters, but a row under " + key});
            }
        }
    }
}

}  // namespace tunefarm::miopen
