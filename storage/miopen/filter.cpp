// SPDX-License-Identifier: MIT
#include "storage/miopen/filter.h"

#include <algorithm>

#include "storage/miopen/merge.h"

namespace tunefarm::miopen {

namespace {

bool is_named(std::string_view solver, const std::vector<std::string>& patterns) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
        return pattern.ends_with('*') ? solver.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))
                                      : solver == pattern;
    });
}

Result<ConvProblem> problem_of(const TuningDb& db, const Record& record) {
    Result<ConvProblem> problem = db.kind() == DbKind::kFind ? parse_find_key(record.key) : parse_perf_key(record.key);
    if (!problem.ok()) return problem.error().in(db.file() + ":" + std::to_string(record.line));
    return problem;
}

/// Whether the other database has the problem. Perf-db keys say less: they are what both kinds can be compared by.
class KeySet {
  public:
    static Result<KeySet> of(const TuningDb& db, DbKind for_kind) {
        KeySet set;
        set.by_find_key_ = db.kind() == DbKind::kFind && for_kind == DbKind::kFind;
        for (const Record& record : db.records) {
            if (set.by_find_key_) {
                set.keys_.emplace(record.key);
            } else {
                TUNEFARM_ASSIGN(const ConvProblem problem, problem_of(db, record));
                set.keys_.insert(to_perf_key(problem));
            }
        }
        return set;
    }
    bool contains(std::string_view key, const ConvProblem& problem) const {
        return keys_.contains(by_find_key_ ? std::string(key) : to_perf_key(problem));
    }

  private:
    bool by_find_key_ = false;
    std::unordered_set<std::string> keys_;
};

bool selects(const Filter& filter, const ConvProblem& problem) {
    const auto has = [](const auto& list, const auto& value) {
        return list.empty() || std::ranges::find(list, value) != list.end();
    };
    return has(filter.directions, problem.direction) && has(filter.types, problem.in_type) &&
           has(filter.layouts, problem.in_layout) &&
           (filter.spatial_dims == 0 || filter.spatial_dims == problem.spatial_dims);
}

}  // namespace

Status filter(TuningDb& db, const Filter& filter) {
    if (filter.keep > 0 && db.kind() == DbKind::kPerf) {
        return Error{ErrorKind::kInput, db.file() +
                                            ": a perf-db has no times to keep the fastest by; name its filtered "
                                            "find-db with --keys-of"};
    }
    const bool by_problem = !filter.directions.empty() || !filter.types.empty() || !filter.layouts.empty() ||
                            filter.spatial_dims != 0 || filter.keys_of != nullptr;
    std::optional<KeySet> keys;
    if (filter.keys_of != nullptr) {
        TUNEFARM_ASSIGN(keys, KeySet::of(*filter.keys_of, db.kind()));
    }
    std::vector<Record> kept;
    for (Record& record : db.records) {
        if (by_problem) {
            TUNEFARM_ASSIGN(const ConvProblem problem, problem_of(db, record));
            if (!selects(filter, problem) || (keys && !keys->contains(record.key, problem))) continue;
        }
        std::erase_if(record.items, [&](const Item& item) {
            return (!filter.solvers.empty() && !is_named(item.id, filter.solvers)) ||
                   is_named(item.id, filter.not_solvers);
        });
        if (!record.items.empty()) kept.push_back(std::move(record));
    }
    db.records = std::move(kept);
    if (filter.keep > 0) keep_fastest(db, filter.keep);
    return {};
}

}  // namespace tunefarm::miopen
