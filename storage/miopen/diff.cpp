// SPDX-License-Identifier: MIT
#include "storage/miopen/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "storage/miopen/find_item.h"

namespace tunefarm::miopen {

namespace {

struct Fastest {
    std::string_view solver;
    double ms = 0;
};

Result<Fastest> fastest_of(const TuningDb& db, const Record& record) {
    Fastest best;
    for (const Item& item : record.items) {
        const Result<FindItem> parsed = parse_find_item(item);
        if (!parsed.ok()) return parsed.error().in(db.file() + ":" + std::to_string(record.line));
        if (best.solver.empty() || std::pair(parsed->time_ms, parsed->solver) < std::pair(best.ms, best.solver)) {
            best = {parsed->solver, parsed->time_ms};
        }
    }
    return best;
}

/// Calls visit(key, before, after) for all keys of both, in order; a side that has none is null.
template <typename Visit>
Status for_both(const TuningDb& before, const TuningDb& after, Visit visit) {
    std::map<std::string_view, std::pair<const Record*, const Record*>> keys;
    for (const Record& record : before.records) keys[record.key].first = &record;
    for (const Record& record : after.records) keys[record.key].second = &record;
    for (const auto& [key, pair] : keys) TUNEFARM_TRY(visit(key, pair.first, pair.second));
    return {};
}

Result<Diff> diff_find(const TuningDb& before, const TuningDb& after, double threshold) {
    Diff result;
    double log_ratio = 0;
    std::int64_t timed = 0;
    const auto visit = [&](std::string_view key, const Record* old, const Record* now) -> Status {
        Change change;
        change.key = key;
        if (old != nullptr) {
            TUNEFARM_ASSIGN(const Fastest best, fastest_of(before, *old));
            change.before_solver = best.solver;
            change.before_ms = best.ms;
        }
        if (now != nullptr) {
            TUNEFARM_ASSIGN(const Fastest best, fastest_of(after, *now));
            change.after_solver = best.solver;
            change.after_ms = best.ms;
        }
        if (old == nullptr || now == nullptr) {
            change.kind = old == nullptr ? Change::Kind::kAdded : Change::Kind::kRemoved;
            result.changes.push_back(std::move(change));
            return {};
        }
        ++result.common;
        change.solver_changed = change.before_solver != change.after_solver;
        if (change.before_ms > 0 && change.after_ms > 0) {
            log_ratio += std::log(change.after_ms / change.before_ms);
            ++timed;
        }
        change.kind = Change::Kind::kWithin;
        // Shipped find-dbs hold times of 0, and one revision of the library measures negative ones: no share of these
        // is a difference.
        const double share = change.before_ms > 0 ? threshold * change.before_ms : 0;
        if (change.after_ms < change.before_ms - share) change.kind = Change::Kind::kFaster;
        if (change.after_ms > change.before_ms + share) change.kind = Change::Kind::kSlower;
        if (change.kind == Change::Kind::kWithin && !change.solver_changed) {
            ++result.equal;
            result.identical += old->items == now->items ? 1 : 0;
        } else {
            result.changes.push_back(std::move(change));
        }
        return {};
    };
    TUNEFARM_TRY(for_both(before, after, visit));
    if (timed > 0) result.time_ratio = std::exp(log_ratio / static_cast<double>(timed));
    return result;
}

Result<Diff> diff_perf(const TuningDb& before, const TuningDb& after) {
    Diff result;
    const auto visit = [&](std::string_view key, const Record* old, const Record* now) -> Status {
        std::map<std::string_view, std::pair<std::optional<std::string_view>, std::optional<std::string_view>>> rows;
        if (old != nullptr) {
            for (const Item& item : old->items) rows[item.id].first = item.values;
        }
        if (now != nullptr) {
            for (const Item& item : now->items) rows[item.id].second = item.values;
        }
        for (const auto& [solver, values] : rows) {
            if (values.first && values.second) {
                ++result.common;
                if (*values.first == *values.second) {
                    ++result.equal;
                    ++result.identical;
                    continue;
                }
            }
            Change change;
            change.kind = Change::Kind::kParameters;
            if (!values.first) change.kind = Change::Kind::kAdded;
            if (!values.second) change.kind = Change::Kind::kRemoved;
            change.key = key;
            change.before_solver = change.after_solver = solver;
            change.before = values.first.value_or("");
            change.after = values.second.value_or("");
            result.changes.push_back(std::move(change));
        }
        return {};
    };
    TUNEFARM_TRY(for_both(before, after, visit));
    return result;
}

}  // namespace

const char* to_string(Change::Kind kind) {
    switch (kind) {
        case Change::Kind::kAdded: return "added";
        case Change::Kind::kRemoved: return "removed";
        case Change::Kind::kFaster: return "faster";
        case Change::Kind::kSlower: return "slower";
        case Change::Kind::kWithin: return "within";
        case Change::Kind::kParameters: return "parameters";
    }
    return "?";
}

std::int64_t Diff::count(Change::Kind kind) const {
    return std::ranges::count(changes, kind, &Change::kind);
}

std::int64_t Diff::solver_changes() const {
    return std::ranges::count(changes, true, &Change::solver_changed);
}

Result<Diff> diff(const TuningDb& before, const TuningDb& after, double threshold) {
    if (before.kind() != after.kind()) {
        return Error{ErrorKind::kInput, before.file() + " and " + after.file() + " are not of the same kind"};
    }
    return before.kind() == DbKind::kFind ? diff_find(before, after, threshold) : diff_perf(before, after);
}

}  // namespace tunefarm::miopen
