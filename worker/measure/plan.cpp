// SPDX-License-Identifier: MIT
#include "worker/measure/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

namespace tunefarm::worker {
namespace {

/// A solution leaves the race after `blocks` blocks when it was slower than the leader by more than `margin` in every
/// one of them. Few blocks want a large margin, because one kernel's median moves by tens of per cent between
/// processes; with 12 blocks the sign alone has p = 2·2^-12 (docs/measurement.md, "Racing").
struct Rung {
    int blocks;
    double margin;
};
constexpr Rung kRungs[] = {{4, 1.15}, {6, 1.05}, {9, 1.02}, {12, 1.0}};
/// The first rung looks at single samples: not even the best one of the loser may be near the leader's median.
constexpr int kFirstRungBlocks = 2;
constexpr double kFirstRungMargin = 1.5;

/// Timing passes of one block. The median of 8 is good enough: what is left is the spread between blocks.
constexpr double kMaxPasses = 8;
/// Two where they are affordable, so that one interrupt does not make the block's value.
constexpr double kMinPasses = 2;
constexpr double kLongPassUs = 250'000;

/// Deaths in flight that a solution may have although it ended well when it was tried alone.
constexpr int kMaxDeaths = 3;
/// So many failed trials without a single row in between are not the solutions' fault.
constexpr int kMaxFruitlessDeaths = 3;

std::string two_digits(double ratio) {
    const auto hundredths = static_cast<long>(std::lround(ratio * 100));
    const std::string fraction = std::to_string(hundredths % 100);
    return std::to_string(hundredths / 100) + "." + (fraction.size() < 2 ? "0" : "") + fraction;
}

double smallest(const std::vector<BlockedValue>& values) {
    return std::min_element(values.begin(), values.end(),
                            [](const BlockedValue& a, const BlockedValue& b) { return a.value < b.value; })
        ->value;
}

double median_of(const std::vector<BlockedValue>& values) {
    std::vector<double> plain;
    plain.reserve(values.size());
    for (const BlockedValue& v : values) plain.push_back(v.value);
    return median(std::move(plain));
}

/// Fisher-Yates with our own reduction: std::shuffle's use of the generator differs between standard libraries.
void shuffle(std::vector<std::size_t>& items, std::mt19937_64& random) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random() % i]);
}

}  // namespace

MeasurePlan::MeasurePlan(std::vector<std::string> solutions, std::uint64_t seed, Policy policy)
    : policy_(policy), random_(seed) {
    entrants_.reserve(solutions.size());
    for (std::string& name : solutions) {
        entrants_.emplace_back();
        entrants_.back().name = std::move(name);
        queue_.push_back({entrants_.size() - 1, false});
    }
    if (entrants_.empty()) stage_ = Stage::kFinished;
}

std::vector<std::size_t> MeasurePlan::actives() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
        if (active(i)) found.push_back(i);
    }
    return found;
}

/// A block: one random permutation as warm-up, then passes, each a fresh random permutation of the racing solutions.
void MeasurePlan::fill_queue() {
    std::vector<std::size_t> order = actives();
    double pass_us = 0;
    for (std::size_t i : order) pass_us += entrants_[i].pass_us;
    const double least = pass_us > kLongPassUs ? 1 : kMinPasses;
    double passes = least;
    if (block_ >= kFirstRungBlocks && pass_us > 0) {
        passes = std::clamp(std::floor(static_cast<double>(policy_.block_time.count()) / pass_us), least, kMaxPasses);
    }
    const bool fresh = policy_.process_per_block || block_ == 0 || need_process_;
    need_process_ = fresh && (block_ > 0 || need_process_);
    ++block_;
    if (fresh) {
        shuffle(order, random_);
        for (std::size_t i : order) queue_.push_back({i, true});
    }
    for (int pass = 0; pass < static_cast<int>(passes); ++pass) {
        shuffle(order, random_);
        for (std::size_t i : order) queue_.push_back({i, false});
    }
}

Request MeasurePlan::next() {
    if (finished() || !in_flight_.empty()) std::abort();
    Request request;
    request.phase = stage_ == Stage::kValidate ? Request::Phase::kValidate : Request::Phase::kTime;
    trial_ = suspect_.has_value();
    if (trial_) {
        in_flight_.push_back({*suspect_, stage_ == Stage::kTime});
        request.order.push_back(entrants_[*suspect_].name);
        request.fresh_process = true;
        return request;
    }
    if (queue_.empty()) fill_queue();
    request.fresh_process = std::exchange(need_process_, false);
    std::size_t bytes = 0;
    while (!queue_.empty() && in_flight_.size() < policy_.request_entries) {
        const std::string& name = entrants_[queue_.front().solution].name;
        if (!in_flight_.empty() && bytes + name.size() > policy_.request_bytes) break;
        bytes += name.size();
        request.order.push_back(name);
        in_flight_.push_back(queue_.front());
        queue_.pop_front();
    }
    return request;
}

/// Accounts for the rows of the outstanding request and leaves in in_flight_ what they do not answer.
Status MeasurePlan::take(const std::vector<Row>& rows, bool all) {
    if (rows.size() > in_flight_.size() || (all && rows.size() < in_flight_.size())) {
        return Error{ErrorKind::kCorruption, "the driver answered " + std::to_string(in_flight_.size()) +
                                                 " measurements with " + std::to_string(rows.size()) + " rows"};
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const Entry entry = in_flight_[i];
        const Row& row = rows[i];
        Entrant& entrant = entrants_[entry.solution];
        if (row.solution != entrant.name) {
            return Error{ErrorKind::kCorruption,
                         "the driver answered for " + row.solution + " when asked for " + entrant.name};
        }
        fruitless_deaths_ = 0;
        if (stage_ == Stage::kValidate) {
            if (!row.passed) fail(entry.solution, row.message);
            continue;
        }
        if (!std::isfinite(row.us) || row.us <= 0 || row.launches < 1) {
            return Error{ErrorKind::kCorruption, "the driver reported an impossible time for " + row.solution};
        }
        const double spent = row.us * row.launches;
        measured_us_ += spent;
        entrant.pass_us = entrant.pass_us > 0 ? std::min(entrant.pass_us, spent) : spent;
        if (entry.warmup) {
            ++entrant.warmups;
            continue;
        }
        entrant.samples.push_back({block_ - 1, row.us});
        samples_.push_back({entry.solution, block_ - 1, row.us, row.launches});
    }
    in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<std::ptrdiff_t>(rows.size()));
    return {};
}

Status MeasurePlan::add(const std::vector<Row>& rows, Micros elapsed) {
    TUNEFARM_TRY(take(rows, true));
    if (std::exchange(trial_, false)) suspect_.reset();
    advance(elapsed);
    return {};
}

Status MeasurePlan::interrupt(const std::vector<Row>& rows, Micros elapsed, const std::string& reason) {
    TUNEFARM_TRY(take(rows, false));
    need_process_ = true;
    if (in_flight_.empty()) {
        // All rows are there; whatever died after them belongs to nobody.
        if (std::exchange(trial_, false)) suspect_.reset();
        advance(elapsed);
        return {};
    }
    const std::size_t victim = in_flight_.front().solution;
    const bool lone = std::exchange(trial_, false);
    if (stage_ == Stage::kValidate) {
        // Those behind the victim are asked again, in the same order.
        for (std::size_t i = in_flight_.size(); i > 1; --i) queue_.push_front(in_flight_[i - 1]);
    } else {
        // The samples of this block stay; pairs that it did not complete are not paired.
        queue_.clear();
    }
    in_flight_.clear();
    Entrant& entrant = entrants_[victim];
    ++entrant.deaths;
    if (!lone && entrant.deaths < kMaxDeaths) {
        suspect_ = victim;
    } else {
        suspect_.reset();
        fail(victim, reason);
        if (++fruitless_deaths_ >= kMaxFruitlessDeaths) {
            return Error{ErrorKind::kUnavailable, "the driver dies whatever it is asked to measure: " + reason};
        }
    }
    advance(elapsed);
    return {};
}

void MeasurePlan::fail(std::size_t solution, std::string message) {
    entrants_[solution].status = SolutionStatus::kFailed;
    entrants_[solution].message = std::move(message);
}

/// After rows: begins timing when validation is over, ends a block, ends everything when the budget is spent.
void MeasurePlan::advance(Micros elapsed) {
    if (stage_ == Stage::kValidate) {
        if (!queue_.empty() || suspect_) return;
        if (actives().empty()) {
            stage_ = Stage::kFinished;
            return;
        }
        stage_ = Stage::kTime;
        timing_began_ = elapsed;
        return;
    }
    if (queue_.empty() && !suspect_) end_block();
    if (stage_ == Stage::kFinished) return;
    const bool spent = elapsed - timing_began_ >= policy_.wall_budget ||
                       measured_us_ >= static_cast<double>(policy_.measured_budget.count());
    if (spent) finish(SolutionStatus::kBudget);
}

void MeasurePlan::end_block() {
    std::vector<std::size_t> racing = actives();
    if (racing.empty()) {
        stage_ = Stage::kFinished;
        return;
    }
    for (std::size_t i : racing) entrants_[i].medians = block_medians(entrants_[i].samples);
    // Blocks that a death cut short can leave a solution without a single sample.
    for (std::size_t i : racing) {
        if (entrants_[i].samples.empty()) return;
    }
    const std::size_t leader = *std::min_element(racing.begin(), racing.end(), [&](std::size_t x, std::size_t y) {
        return median_of(entrants_[x].medians) < median_of(entrants_[y].medians);
    });
    screen(leader, racing);
    racing = actives();

    const auto blocks = static_cast<int>(entrants_[leader].medians.size());
    if (blocks < policy_.min_blocks) return;
    if (blocks >= policy_.max_blocks) return finish(SolutionStatus::kNoisy);
    if (!decided(leader, racing)) return;
    const bool all_tight =
        std::all_of(racing.begin(), racing.end(), [&](std::size_t i) { return tight(entrants_[i]); });
    if (all_tight || blocks >= policy_.enough_blocks) finish(SolutionStatus::kNoisy);
}

void MeasurePlan::screen(std::size_t leader, const std::vector<std::size_t>& racing) {
    const Entrant& best = entrants_[leader];
    const double best_median = median_of(best.medians);
    for (std::size_t i : racing) {
        if (i == leader) continue;
        Entrant& entrant = entrants_[i];
        const std::vector<double> ratios = block_ratios(entrant.medians, best.medians);
        const auto blocks = static_cast<int>(ratios.size());
        if (blocks < kFirstRungBlocks) continue;
        const double least = *std::min_element(ratios.begin(), ratios.end());
        const auto out = [&](double margin) {
            entrant.status = SolutionStatus::kScreened;
            entrant.message = "slower than " + best.name + " by a factor above " + two_digits(margin) + " in each of " +
                              std::to_string(blocks) + " blocks";
        };
        if (least > kFirstRungMargin && smallest(entrant.samples) > kFirstRungMargin * best_median) {
            out(kFirstRungMargin);
            continue;
        }
        for (const Rung& rung : kRungs) {
            if (blocks < rung.blocks || least <= rung.margin) continue;
            out(rung.margin);
            break;
        }
    }
}

/// Whether the leader is separated from everyone, or so close to all of the others that it no longer matters.
bool MeasurePlan::decided(std::size_t leader, const std::vector<std::size_t>& racing) const {
    std::vector<PairedComparison> pairs;
    std::vector<double> p_values;
    for (std::size_t i : racing) {
        if (i == leader) continue;
        pairs.push_back(compare_paired(entrants_[i].medians, entrants_[leader].medians, policy_.confidence));
        p_values.push_back(pairs.back().p);
    }
    const std::vector<bool> separated = holm_rejections(p_values, policy_.stop_level);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        if (separated[i] && *pairs[i].ratio > 1) continue;
        const std::optional<Interval>& interval = pairs[i].interval;
        const bool equal = interval && pairs[i].blocks >= policy_.enough_blocks &&
                           interval->low >= 1 - policy_.target_half_width &&
                           interval->high <= 1 + policy_.target_half_width;
        if (!equal) return false;
    }
    return true;
}

bool MeasurePlan::tight(const Entrant& entrant) const {
    std::vector<double> medians;
    for (const BlockedValue& m : block_medians(entrant.samples)) medians.push_back(m.value);
    const std::optional<Interval> interval = median_interval(medians, policy_.confidence);
    if (!interval) return false;
    return (interval->high - interval->low) / 2 <= policy_.target_half_width * median(std::move(medians));
}

void MeasurePlan::finish(SolutionStatus unsettled) {
    for (std::size_t i : actives()) {
        entrants_[i].status = tight(entrants_[i]) ? SolutionStatus::kConverged : unsettled;
    }
    stage_ = Stage::kFinished;
    queue_.clear();
    suspect_.reset();
}

}  // namespace tunefarm::worker
