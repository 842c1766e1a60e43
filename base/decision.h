// SPDX-License-Identifier: MIT
// From the samples of all solutions of one problem to a winner, a tie set, or no decision (docs/measurement.md).
// Pure; called by conclude in the coordinator and by the tests of the sampling plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.h"

namespace tunefarm {

/// How the measurement of one (problem, solution) pair stands. The words are stored and sent: append only.
enum class SolutionStatus : std::uint8_t {
    kPending,    ///< "pending": not ended
    kScreened,   ///< "screened": slower than the leader by the margin of a racing rung; not sampled any further
    kConverged,  ///< "converged": its interval is as tight as asked for
    kNoisy,      ///< "noisy": all the blocks that a measurement may have, and its interval is still wide
    kBudget,     ///< "budget": the time was over before its interval was tight
    kFailed,     ///< "failed": wrong results, or it killed its driver
};
const char* to_string(SolutionStatus status);
std::optional<SolutionStatus> parse_solution_status(std::string_view text);

/// All that is known of one solution of a problem.
struct Candidate {
    std::string name;
    SolutionStatus status = SolutionStatus::kPending;
    std::vector<BlockedValue> samples;  ///< microseconds per launch, with the block they were taken in
    double preference = 0;              ///< secondary rule between equals, smaller is better (code size, workspace)
};

enum class Standing : std::uint8_t { kNone, kTie, kWinner };
/// "", "tie", "winner": what is stored and shown.
const char* to_string(Standing standing);

struct SolutionResult {
    std::int32_t samples = 0;
    std::int32_t blocks = 0;
    double median_us = 0;              ///< median of the block medians; 0 without samples
    std::optional<Interval> interval;  ///< of that median; nullopt: too few blocks to say
    Standing standing = Standing::kNone;
};

struct Decision {
    std::vector<SolutionResult> results;  ///< one per candidate, in the order given
    /// The winner, or of a tie set the one that the secondary rule picks where one must be named: among the tied whose
    /// median is within 1 % of the lowest, the smallest preference, then the first name. nullopt: undecided.
    std::optional<std::size_t> preferred;
    std::string reason;  ///< one sentence for people
};

/// Finalists are the candidates that are neither failed nor screened. One is the winner only if the paired interval
/// against every other finalist excludes equality (sign test over blocks, Holm-corrected over the finalists). If not,
/// the leader and those it could not be told from are a tie set. A finalist with too few blocks for an interval leaves
/// the problem undecided: no winner and no tie.
Decision decide(const std::vector<Candidate>& candidates, double confidence = 0.95);

}  // namespace tunefarm
