// SPDX-License-Identifier: MIT
// One measurement, driven: asks the plan what to do, has a driver do it, streams rows to the coordinator. Row shapes
// are in docs/measurement.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "worker/measure/plan.h"

namespace tunefarm::worker {

/// What to measure. The owner of the driver reads problem, device, cpus and seed for the `args` of the measure verb;
/// the session itself needs the solutions, the seed and the policy.
struct MeasureSpec {
    std::string problem;       ///< JSON, passed to the driver as it is
    std::string problem_name;  ///< for messages
    double flop = 0;           ///< of one launch; 0: unknown
    std::vector<std::string> solutions;
    std::uint64_t seed = 0;
    std::string device;
    std::vector<int> cpus;
    Policy policy;  ///< holds the budgets
};

/// A driver process with the bundle loaded. Called from the session's thread only.
class MeasureDriver {
  public:
    virtual ~MeasureDriver() = default;
    /// Runs one request and returns all rows (JSON objects, docs/drivers.md `measure`) in the order of execution.
    /// On failure the rows that came before it are in `*rows_before_failure`. kCancelled ends the measurement; every
    /// other error (kUnavailable: died, kTimeout: killed by its limit, or an `error` event) is charged to the solution
    /// in flight.
    virtual Result<std::vector<std::string>> measure(const Request& request,
                                                     std::vector<std::string>* rows_before_failure) = 0;
    /// Ends the process (if one is left) and starts a fresh one with the same bundle. An error ends the measurement.
    virtual Status restart() = 0;
};

/// Where rows go, as they happen. Called from the session's thread only.
class RowSink {
  public:
    virtual ~RowSink() = default;
    /// One JSON object without newlines.
    virtual void row(std::string json) = 0;
};

struct MeasureSummary {
    std::int64_t samples = 0;
    std::int64_t warmups = 0;
    std::int32_t blocks = 0;
    std::int32_t restarts = 0;  ///< fresh processes asked for
    std::int32_t failed = 0;    ///< solutions
    Micros validation{0};       ///< wall time, for the attempt's phases
    Micros timing{0};
};

/// Measures until the plan has finished. `elapsed` is monotonic time from any origin. A failed solution is a row, not
/// an error; errors are a cancelled measurement (kCancelled), a driver that cannot be started or dies whatever it is
/// asked (kUnavailable), and rows that do not answer the request (kCorruption). Rows sent before an error stay valid.
Result<MeasureSummary> run_measurement(const MeasureSpec& spec, MeasureDriver& driver, RowSink& sink,
                                       const std::function<Micros()>& elapsed);

}  // namespace tunefarm::worker
