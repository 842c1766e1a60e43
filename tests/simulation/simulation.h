// SPDX-License-Identifier: MIT
// A farm in simulated time around the production core: Graph, Scheduler and Predictor decide, the simulation only
// plays clock, workers and faults. One seed gives one sequence of events, and so one hash.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/schedule/graph.h"
#include "coordinator/schedule/scheduler.h"

namespace tunefarm::simulation {

/// Which order the steps get, for comparison. All but kTunefarm are made by what the core is told, not by other code.
enum class Policy : std::uint8_t {
    kTunefarm,      ///< Johnson order of the steps, longest first within a step
    kFifo,          ///< steps and kernels in the order of submission
    kLongestFirst,  ///< longest task first over all steps
    kBarrier,       ///< one step at a time
};
const char* to_string(Policy policy);

/// One step's work, in seconds; kernels are drawn from the seed when they are needed, not stored.
struct StepShape {
    double prepare = 0.1;
    double helper = 0;
    std::int32_t kernels = 1;
    double finish = 0.3;
    std::int32_t chunks = 1;  ///< measurements
};

struct CampaignShape {
    std::int32_t priority = 0;
    double arrives_s = 0;
};

struct Shape {
    std::vector<StepShape> steps;
    /// Steps are dealt to them in turn. Several campaigns need a policy other than kBarrier.
    std::vector<CampaignShape> campaigns = {{}};
    double kernel_log_mean = 0.3;
    double kernel_log_sigma = 0.9;
    double chunk_log_mean = 1.484;  ///< 5 s in the mean
    double chunk_log_sigma = 0.5;
    double straggler_share = 0;  ///< of CPU attempts
    double straggler_factor = 10;
    double prediction_sigma = 0;  ///< predictions are off by lognormal(0, sigma)
};

/// 200 steps of helper U(5,15) s, lognormal(2.2, 1.1) kernels, finish 0.3 + 0.02·K s, max(1, K/8) measurements.
Shape campaign_shape(std::uint64_t seed, int steps = 200);

struct Farm {
    int cpu_hosts = 6;
    std::uint32_t slots = 8;
    int gpus = 8;
};

struct Faults {
    double host_mean_life_s = 0;  ///< 0: hosts do not die
    double host_down_s = 5;
};

struct Outcome {
    double makespan_s = 0;
    double bound_s = 0;   ///< max(critical path, CPU work / slots, GPU work / GPUs + earliest first measurement)
    double cpu_busy = 0;  ///< share of slots × makespan
    std::uint64_t events = 0;
    std::uint64_t attempts = 0;
    std::uint64_t hash = 0;
    /// By campaign: when it ended, and the CPU seconds it had been given when the first of them had none left to do.
    std::vector<double> ended_s;
    std::vector<double> contended_cpu_s;
    std::string broken;  ///< the first broken invariant; empty: none
};

/// Tasks done and events played so far; called every 65,536 events.
using ProgressCallback = std::function<void(std::int64_t done, std::uint64_t events)>;

Outcome simulate(const Shape& shape, const Farm& farm, Policy policy, std::uint64_t seed, const Faults& faults = {},
                 const ProgressCallback& progress = {});

}  // namespace tunefarm::simulation
