// SPDX-License-Identifier: MIT
#include "base/decision.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tunefarm {
namespace {

/// Medians closer than this are equal for the secondary rule: below what re-running a campaign reproduces.
constexpr double kPracticallyEqual = 0.01;

std::string percent(double confidence) {
    const auto tenths = std::lround(confidence * 1000);
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
    return text + " %";
}

SolutionResult summarise(const Candidate& candidate, double confidence) {
    SolutionResult result;
    result.samples = static_cast<std::int32_t>(candidate.samples.size());
    std::vector<double> medians;
    for (const BlockedValue& m : block_medians(candidate.samples)) medians.push_back(m.value);
    result.blocks = static_cast<std::int32_t>(medians.size());
    if (medians.empty()) return result;
    result.median_us = median(medians);
    result.interval = median_interval(std::move(medians), confidence);
    return result;
}

}  // namespace

const char* to_string(SolutionStatus status) {
    switch (status) {
        case SolutionStatus::kPending: return "pending";
        case SolutionStatus::kScreened: return "screened";
        case SolutionStatus::kConverged: return "converged";
        case SolutionStatus::kNoisy: return "noisy";
        case SolutionStatus::kBudget: return "budget";
        case SolutionStatus::kFailed: return "failed";
    }
    return "unknown";
}

std::optional<SolutionStatus> parse_solution_status(std::string_view text) {
    for (int i = 0; i <= static_cast<int>(SolutionStatus::kFailed); ++i) {
        if (text == to_string(static_cast<SolutionStatus>(i))) return static_cast<SolutionStatus>(i);
    }
    return std::nullopt;
}

const char* to_string(Standing standing) {
    switch (standing) {
        case Standing::kNone: return "";
        case Standing::kTie: return "tie";
        case Standing::kWinner: return "winner";
    }
    return "";
}

Decision decide(const std::vector<Candidate>& candidates, double confidence) {
    Decision decision;
    std::vector<std::size_t> finalists;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        decision.results.push_back(summarise(candidates[i], confidence));
        const SolutionStatus status = candidates[i].status;
        if (status != SolutionStatus::kFailed && status != SolutionStatus::kScreened) finalists.push_back(i);
    }
    if (finalists.empty()) {
        decision.reason = "no solution was valid";
        return decision;
    }
    std::vector<SolutionResult>& results = decision.results;
    for (std::size_t i : finalists) {
        if (results[i].interval) continue;
        decision.reason = "too few samples for an interval of " + candidates[i].name + ": " +
                          std::to_string(results[i].blocks) + " blocks, " + std::to_string(values_needed(confidence)) +
                          " needed";
        return decision;
    }
    const std::size_t leader = *std::min_element(finalists.begin(), finalists.end(), [&](std::size_t x, std::size_t y) {
        return results[x].median_us < results[y].median_us;
    });

    std::vector<std::size_t> rivals;
    std::vector<double> p_values;
    std::vector<bool> slower;  // in the direction that a rejection would claim
    for (std::size_t i : finalists) {
        if (i == leader) continue;
        const PairedComparison pair = compare_paired(candidates[i].samples, candidates[leader].samples, confidence);
        if (!pair.interval) {
            decision.reason = "too few blocks with both " + candidates[leader].name + " and " + candidates[i].name;
            return decision;
        }
        rivals.push_back(i);
        p_values.push_back(pair.p);
        slower.push_back(*pair.ratio > 1);
    }
    const std::vector<bool> rejected = holm_rejections(p_values, 1 - confidence);
    std::vector<std::size_t> tied{leader};
    for (std::size_t r = 0; r < rivals.size(); ++r) {
        if (!rejected[r] || !slower[r]) tied.push_back(rivals[r]);
    }

    if (tied.size() == 1) {
        results[leader].standing = Standing::kWinner;
        decision.preferred = leader;
        decision.reason = rivals.empty() ? "the only finalist"
                                         : "faster than each of " + std::to_string(rivals.size()) +
                                               " other finalists with " + percent(confidence) + " confidence";
        return decision;
    }
    for (std::size_t i : tied) results[i].standing = Standing::kTie;
    const double close = results[leader].median_us * (1 + kPracticallyEqual);
    for (std::size_t i : tied) {
        if (results[i].median_us > close) continue;
        if (!decision.preferred) {
            decision.preferred = i;
            continue;
        }
        const Candidate& best = candidates[*decision.preferred];
        if (std::tie(candidates[i].preference, candidates[i].name) < std::tie(best.preference, best.name)) {
            decision.preferred = i;
        }
    }
    decision.reason =
        std::to_string(tied.size()) + " solutions cannot be told apart with " + percent(confidence) + " confidence";
    return decision;
}

}  // namespace tunefarm
