// SPDX-License-Identifier: MIT
// What the measurement of one problem has told so far, and what follows from it: rows of a driver's session
// (docs/measurement.md) become records and samples; samples become a decision.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/decision.h"
#include "base/result.h"
#include "coordinator/server/step_document.h"
#include "storage/records.h"
#include "storage/state_reader.h"

namespace tunefarm::server {

/// Sample numbers of later attempts start here, so that no attempt overwrites the samples of another: all are kept, the
/// last attempt's decide.
inline constexpr std::int32_t kSamplesPerAttempt = 1'000'000;

class MeasuredProblemState {
  public:
    MeasuredProblemState(StepId step, std::int32_t problem, const StepDocument& document);

    /// Forgets the samples of an earlier attempt.
    void begin_attempt(std::uint32_t attempt, const std::string& device, bool simulated);
    /// One row of the session; appends what must be stored. kCorruption: not a row.
    Status row(std::string_view json, std::vector<storage::Record>& out);
    /// What an earlier process of the coordinator had committed.
    void restore(const storage::MeasuredProblem& measured);

    Decision decide() const { return tunefarm::decide(candidates_); }
    std::vector<storage::ResultRecord> results(const Decision& decision, double flop) const;
    /// JSON objects as `tunefarm results --json` shows them, one per solution, without the step's own fields.
    std::string results_json(const Decision& decision, const StepDocument& document) const;
    /// Solutions with samples that have not failed.
    std::int32_t measured() const;
    bool simulated() const { return simulated_; }

  private:
    StepId step_;
    std::int32_t problem_;
    std::uint32_t attempt_ = 1;
    std::string device_;
    bool simulated_ = false;
    std::vector<Candidate> candidates_;
    std::vector<std::string> validation_;
    std::vector<std::string> messages_;
    const std::map<std::string, std::int32_t> index_;
};

}  // namespace tunefarm::server
