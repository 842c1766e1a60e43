// SPDX-License-Identifier: MIT
// What to measure next for one (step, problem): validation, then a race in blocks (docs/measurement.md). A state
// machine without I/O and without a clock; the same seed and the same rows give the same requests. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/decision.h"
#include "base/result.h"
#include "base/types.h"

namespace tunefarm::worker {

/// One call of a driver's `measure` verb.
struct Request {
    enum class Phase : std::uint8_t { kValidate, kTime };
    Phase phase = Phase::kValidate;
    std::vector<std::string> order;  ///< names of solutions, in the order of execution; names recur
    int repeats = 1;
    bool fresh_process = false;  ///< restart the driver before this request
};

/// One parsed row of a driver.
struct Row {
    std::string solution;
    bool passed = false;   ///< validate
    double error = 0;      ///< validate: what the driver measured
    double tolerance = 0;  ///< validate: what it allows
    std::string message;   ///< validate: why it failed
    double us = 0;         ///< time: microseconds per launch
    std::int32_t launches = 1;
};

/// Limits and levels of a measurement. The defaults carry their reasons in docs/measurement.md.
struct Policy {
    Micros wall_budget{8'000'000};      ///< for timing; validation is always finished
    Micros measured_budget{8'000'000};  ///< of time inside samples, warm-up included
    double target_half_width = 0.01;    ///< of a finalist's interval, relative to its median
    double confidence = 0.95;
    double stop_level = 0.005;  ///< a race stops early only on stronger evidence than the decision asks for
    int min_blocks = 9;
    int enough_blocks = 12;  ///< decided but still noisy: no more than this
    int max_blocks = 30;
    Micros block_time{100'000};         ///< aim for the timing passes of one block
    bool process_per_block = true;      ///< false only where a driver's start is too expensive; blocks are then weaker
    std::size_t request_entries = 512;  ///< a request holds at most this many names,
    std::size_t request_bytes = 256 * 1024;  ///< and this many bytes of names: lines end at 1 MiB
};

/// A sample that counts. Its position in samples() is its place in time among all solutions' samples.
struct Sample {
    std::size_t solution = 0;  ///< index into the names given
    std::int32_t block = 0;    ///< all samples of a block come from one process (with process_per_block)
    double us = 0;
    std::int32_t launches = 1;
};

class MeasurePlan {
  public:
    /// `solutions`: unique names.
    MeasurePlan(std::vector<std::string> solutions, std::uint64_t seed, Policy policy);

    bool finished() const { return stage_ == Stage::kFinished; }
    /// Precondition: !finished(), and the last request has been answered by add() or interrupt().
    Request next();
    /// All rows of the last request, in its order. `elapsed`: wall time since the session began. kCorruption when the
    /// rows are not the answer to the request; the plan must not be used after that.
    Status add(const std::vector<Row>& rows, Micros elapsed);
    /// The driver died, hung or gave up after `rows`. The solution in flight is tried once more, alone in a fresh
    /// process, and is failed with `reason` if that does not end well either (or at its third death); the others go
    /// on in a new block. kUnavailable when the driver dies whatever it is asked.
    Status interrupt(const std::vector<Row>& rows, Micros elapsed, const std::string& reason);

    std::span<const Sample> samples() const { return samples_; }
    SolutionStatus status(std::size_t solution) const { return entrants_[solution].status; }
    /// Why it has its status, for people; may be empty.
    const std::string& message(std::size_t solution) const { return entrants_[solution].message; }
    /// Samples taken and thrown away: the first of each process, and trials after a death.
    std::int32_t warmups(std::size_t solution) const { return entrants_[solution].warmups; }
    std::int32_t blocks() const { return block_; }

  private:
    enum class Stage : std::uint8_t { kValidate, kTime, kFinished };
    struct Entrant {
        std::string name;
        SolutionStatus status = SolutionStatus::kPending;
        std::string message;
        std::vector<BlockedValue> samples;
        std::vector<BlockedValue> medians;  ///< of the blocks that have ended
        std::int32_t warmups = 0;
        int deaths = 0;
        double pass_us = 0;  ///< the cheapest sample so far, all launches; sizes the blocks
    };
    struct Entry {
        std::size_t solution = 0;
        bool warmup = false;
    };

    bool active(std::size_t i) const { return entrants_[i].status == SolutionStatus::kPending; }
    std::vector<std::size_t> actives() const;
    void fill_queue();
    Status take(const std::vector<Row>& rows, bool all);
    void fail(std::size_t solution, std::string message);
    void advance(Micros elapsed);
    void end_block();
    void screen(std::size_t leader, const std::vector<std::size_t>& racing);
    bool decided(std::size_t leader, const std::vector<std::size_t>& racing) const;
    void finish(SolutionStatus unsettled);
    bool tight(const Entrant& entrant) const;

    Policy policy_;
    std::mt19937_64 random_;
    Stage stage_ = Stage::kValidate;
    std::vector<Entrant> entrants_;
    std::vector<Sample> samples_;
    std::deque<Entry> queue_;       ///< the rest of the current block, or of validation
    std::vector<Entry> in_flight_;  ///< of the outstanding request
    std::int32_t block_ = 0;        ///< blocks begun
    bool need_process_ = false;     ///< the next request needs a fresh process
    bool trial_ = false;            ///< the outstanding request is a lone trial after a death
    std::optional<std::size_t> suspect_;
    int fruitless_deaths_ = 0;  ///< failed trials since a row last came
    Micros timing_began_{-1};
    double measured_us_ = 0;
};

}  // namespace tunefarm::worker
