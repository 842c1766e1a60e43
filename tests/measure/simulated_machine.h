// SPDX-License-Identifier: MIT
// A noisy machine for the sampling plan: answers requests with simulated times, from a seed.
#pragma once

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/decision.h"
#include "worker/measure/plan.h"

namespace tunefarm::worker {

class SimulatedMachine {
  public:
    double process_spread = 0;   ///< log spread of a level that all solutions share within a process
    double layout_spread = 0;    ///< log spread of each solution's own level within a process
    double sample_noise = 0.01;  ///< log spread of single samples
    double spike_chance = 0;     ///< chance that a sample is hit by an interrupt and takes up to twice as long
    double drift = 0;            ///< stationary log spread of an AR(1) process over samples, correlation 0.99
    Micros restart{50'000};

    SimulatedMachine(std::map<std::string, double> true_us, std::uint64_t seed)
        : true_us_(std::move(true_us)), random_(seed) {
        start_process();
    }

    std::vector<Row> answer(const Request& request) {
        if (request.fresh_process) start_process();
        std::vector<Row> rows;
        for (const std::string& name : request.order) {
            Row row;
            row.solution = name;
            row.passed = true;
            if (request.phase == Request::Phase::kTime) {
                row.us = time_of(name);
                elapsed_ += Micros{static_cast<std::int64_t>(row.us)};
            }
            rows.push_back(row);
        }
        return rows;
    }

    Micros elapsed() const { return elapsed_; }
    int processes() const { return processes_; }

  private:
    double normal() { return std::normal_distribution<double>()(random_); }
    void start_process() {
        ++processes_;
        elapsed_ += restart;
        level_ = process_spread * normal();
        for (auto& [name, us] : true_us_) layout_[name] = layout_spread * normal();
    }
    double time_of(const std::string& name) {
        weather_ = 0.99 * weather_ + drift * std::sqrt(1 - 0.99 * 0.99) * normal();
        double us = true_us_.at(name) * std::exp(level_ + layout_[name] + weather_ + sample_noise * normal());
        if (std::uniform_real_distribution<double>()(random_) < spike_chance) {
            us *= 1 + std::uniform_real_distribution<double>()(random_);
        }
        return us;
    }

    std::map<std::string, double> true_us_;
    std::mt19937_64 random_;
    std::map<std::string, double> layout_;
    double level_ = 0;
    double weather_ = 0;
    int processes_ = 0;
    Micros elapsed_{0};
};

/// The names of a map of times, in order.
inline std::vector<std::string> names_of(const std::map<std::string, double>& times) {
    std::vector<std::string> names;
    for (const auto& [name, us] : times) names.push_back(name);
    return names;
}

inline void race_to_the_end(MeasurePlan& plan, SimulatedMachine& machine) {
    while (!plan.finished()) {
        const std::vector<Row> rows = machine.answer(plan.next());
        const Status status = plan.add(rows, machine.elapsed());
        if (!status.ok()) std::abort();
    }
}

/// What conclude makes of a finished plan.
inline Decision decide(const MeasurePlan& plan, const std::vector<std::string>& names) {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < names.size(); ++i) candidates.push_back({names[i], plan.status(i), {}, 0});
    for (const Sample& s : plan.samples()) candidates[s.solution].samples.push_back({s.block, s.us});
    return tunefarm::decide(candidates);
}

}  // namespace tunefarm::worker
