// SPDX-License-Identifier: MIT
#include "storage/miopen/merge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "storage/miopen/find_item.h"
#include "storage/miopen/problem.h"

namespace tunefarm::miopen {

namespace {

constexpr double kUnknownTime = std::numeric_limits<double>::infinity();

/// How fast a perf-db's rows were, by the find-db of the same campaign: several find-db keys can share one row.
class RowTimes {
  public:
    explicit RowTimes(const TuningDb& find) {
        std::string key;
        for (const Record& record : find.records) {
            const Result<ConvProblem> problem = parse_find_key(record.key);
            if (!problem.ok()) continue;
            to_perf_key(*problem, key);
            for (const Item& item : record.items) {
                const Result<FindItem> parsed = parse_find_item(item);
                if (!parsed.ok()) continue;
                const auto [place, is_new] =
                    times_.try_emplace(key + "=" + std::string(parsed->solver), parsed->time_ms);
                if (!is_new) place->second = std::min(place->second, parsed->time_ms);
            }
        }
    }
    double of(std::string_view key, std::string_view solver) const {
        const auto found = times_.find(std::string(key) + "=" + std::string(solver));
        return found == times_.end() ? kUnknownTime : found->second;
    }

  private:
    std::unordered_map<std::string, double> times_;
};

struct Candidate {
    Item item;
    double time = kUnknownTime;
    std::size_t input = 0;
};

class Merger {
  public:
    Merger(const std::vector<const TuningDb*>& inputs, const std::vector<const TuningDb*>& times,
           const MergeOptions& options)
        : inputs_(inputs), options_(options), merged_{TuningDb(inputs.front()->kind(), "merged"), {}} {
        for (const TuningDb* find : times) row_times_.push_back(std::make_unique<RowTimes>(*find));
        for (const TuningDb* input : inputs) merged_.db.share(*input);
    }

    Result<Merged> run() {
        std::map<std::string_view, std::vector<std::pair<std::size_t, const Record*>>> keys;
        for (std::size_t input = 0; input < inputs_.size(); ++input) {
            for (const Record& record : inputs_[input]->records) keys[record.key].emplace_back(input, &record);
        }
        for (const auto& [key, records] : keys) {
            Record result{key, {}, 0};
            TUNEFARM_TRY(options_.unit == MergeOptions::Unit::kKey ? by_key(key, records, result)
                                                                   : by_solver(key, records, result));
            merged_.db.records.push_back(std::move(result));
        }
        sort(merged_.db);
        if (options_.keep > 0) keep_fastest(merged_.db, options_.keep);
        return std::move(merged_);
    }

  private:
    using Sources = std::vector<std::pair<std::size_t, const Record*>>;

    Result<double> time_of(std::string_view key, const Record& record, const Item& item, std::size_t input) const {
        if (inputs_[input]->kind() == DbKind::kPerf) {
            return row_times_.empty() ? kUnknownTime : row_times_[input]->of(key, item.id);
        }
        const Result<FindItem> parsed = parse_find_item(item);
        if (!parsed.ok()) return parsed.error().in(inputs_[input]->file() + ":" + std::to_string(record.line));
        return parsed->time_ms;
    }

    /// Candidates come from oldest to newest.
    bool replaces(double time, double kept_time) const {
        return options_.rule == MergeOptions::Rule::kNewest || time <= kept_time;
    }

    Status by_solver(std::string_view key, const Sources& records, Record& result) {
        std::map<std::string_view, Candidate> solvers;
        for (const auto& [input, record] : records) {
            for (const Item& item : record->items) {
                TUNEFARM_ASSIGN(const double time, time_of(key, *record, item, input));
                const auto [place, is_new] = solvers.try_emplace(item.id, Candidate{item, time, input});
                if (is_new) continue;
                Candidate& kept = place->second;
                Candidate dropped{item, time, input};
                if (replaces(time, kept.time)) std::swap(kept, dropped);
                if (kept.item.values == dropped.item.values) continue;
                merged_.conflicts.push_back({std::string(key), std::string(item.id), inputs_[kept.input]->file(),
                                             std::string(kept.item.values), inputs_[dropped.input]->file(),
                                             std::string(dropped.item.values)});
            }
        }
        for (const auto& [solver, candidate] : solvers) result.items.push_back(candidate.item);
        return {};
    }

    Status by_key(std::string_view key, const Sources& records, Record& result) {
        std::pair<std::size_t, const Record*> kept = records.front();
        TUNEFARM_ASSIGN(double kept_time, fastest(key, *kept.second, kept.first));
        for (auto source = std::next(records.begin()); source != records.end(); ++source) {
            TUNEFARM_ASSIGN(const double time, fastest(key, *source->second, source->first));
            std::pair<std::size_t, const Record*> dropped = *source;
            if (replaces(time, kept_time)) {
                std::swap(kept, dropped);
                kept_time = time;
            }
            if (kept.second->items == dropped.second->items) continue;
            merged_.conflicts.push_back({std::string(key), "", inputs_[kept.first]->file(), items_text(*kept.second),
                                         inputs_[dropped.first]->file(), items_text(*dropped.second)});
        }
        result.items = kept.second->items;
        return {};
    }

    Result<double> fastest(std::string_view key, const Record& record, std::size_t input) const {
        double best = kUnknownTime;
        for (const Item& item : record.items) {
            TUNEFARM_ASSIGN(const double time, time_of(key, record, item, input));
            best = std::min(best, time);
        }
        return best;
    }

    static std::string items_text(const Record& record) {
        std::string text;
        for (const Item& item : record.items) {
            text += (text.empty() ? "" : ";") + std::string(item.id) + ":" + std::string(item.values);
        }
        return text;
    }

    const std::vector<const TuningDb*>& inputs_;
    const MergeOptions& options_;
    std::vector<std::unique_ptr<RowTimes>> row_times_;
    Merged merged_;
};

}  // namespace

Result<Merged> merge(const std::vector<const TuningDb*>& inputs, const std::vector<const TuningDb*>& times,
                     const MergeOptions& options) {
    if (inputs.empty()) return Error{ErrorKind::kInput, "nothing to merge"};
    const DbKind kind = inputs.front()->kind();
    if (std::ranges::any_of(inputs, [&](const TuningDb* db) { return db->kind() != kind; })) {
        return Error{ErrorKind::kInput,
                     "a find-db and a perf-db cannot become one database; merge each kind by itself"};
    }
    if (kind == DbKind::kPerf && options.keep > 0) {
        return Error{ErrorKind::kInput, "a perf-db has no times to keep the fastest by; filter it by its find-db"};
    }
    if (kind == DbKind::kPerf && options.rule == MergeOptions::Rule::kBestTime && times.size() != inputs.size()) {
        return Error{ErrorKind::kInput,
                     "perf-dbs hold no times: name the find-db of each input, in the same order, or choose the newest"};
    }
    if (kind == DbKind::kFind && !times.empty()) {
        return Error{ErrorKind::kInput, "find-dbs have times of their own; others are for perf-dbs only"};
    }
    return Merger(inputs, times, options).run();
}

void keep_fastest(TuningDb& db, std::size_t keep) {
    sort(db);
    for (Record& record : db.records) {
        if (record.items.size() > keep) record.items.resize(keep);
    }
}

}  // namespace tunefarm::miopen
