// SPDX-License-Identifier: MIT
// Simulated time and chance, and what may go wrong in one run.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace tunefarm::simulation {

/// How bad one run is; drawn from the seed, so that each kind also occurs without the others.
struct FarmFaults {
    double delay_ms = 1;  ///< mean, exponential
    double drop = 0;      ///< of messages: with the connection's next heartbeat the loss shows
    double duplicate = 0;
    double reorder = 0;
    double reset_mean_s = 0;  ///< of each connection: what is under way is lost, the socket reconnects silently
    double partition_mean_s = 0;
    double coordinator_life_s = 0;
    double worker_life_s = 0;
    double disk_full_mean_s = 0;
    double clock_jump_mean_s = 0;
    double hang = 0;  ///< of builds: the driver hangs until the time limit
    bool slow_host = false;
    bool bad_host = false;  ///< its builds crash
};

class Simulated {
  public:
    explicit Simulated(std::uint64_t seed) : random_(seed) {}

    Micros now() const { return now_; }
    void after(double seconds, std::function<void()> what) {
        events_.push({now_ + Micros(static_cast<std::int64_t>(seconds * 1e6)), ++order_, std::move(what)});
    }
    void at(Micros when, std::function<void()> what) {
        events_.push({std::max(when, now_), ++order_, std::move(what)});
    }
    /// Plays the next event; false if there is none.
    bool step() {
        if (events_.empty()) return false;
        Event event = events_.top();
        events_.pop();
        now_ = event.at;
        ++played_;
        event.what();
        return true;
    }
    std::uint64_t played() const { return played_; }

    double uniform() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }
    bool chance(double probability) { return probability > 0 && uniform() < probability; }
    double exponential(double mean) { return -mean * std::log(1.0 - uniform()); }
    int below(int count) { return static_cast<int>(uniform() * count); }

    void mix(std::uint64_t value) { hash_ = (hash_ ^ value) * 1099511628211ULL; }
    std::uint64_t hash() const { return hash_; }

  private:
    struct Event {
        Micros at;
        std::uint64_t order = 0;
        std::function<void()> what;
        bool operator<(const Event& other) const { return at != other.at ? other.at < at : other.order < order; }
    };
    std::mt19937_64 random_;
    std::priority_queue<Event> events_;
    Micros now_{0};
    std::uint64_t order_ = 0;
    std::uint64_t played_ = 0;
    std::uint64_t hash_ = 1469598103934665603ULL;
};

inline FarmFaults draw_faults(Simulated& world) {
    FarmFaults out;
    const auto some = [&](double share) { return world.chance(share); };
    out.delay_ms = some(0.5) ? 1 : 50;
    if (some(0.3)) out.drop = 0.01;
    if (some(0.3)) out.duplicate = 0.02;
    if (some(0.2)) out.reorder = 0.02;
    if (some(0.4)) out.reset_mean_s = 20;
    if (some(0.3)) out.partition_mean_s = 60;
    if (some(0.5)) out.coordinator_life_s = 15;
    if (some(0.5)) out.worker_life_s = 30;
    if (some(0.2)) out.disk_full_mean_s = 40;
    if (some(0.2)) out.clock_jump_mean_s = 30;
    if (some(0.2)) out.hang = 0.01;
    out.slow_host = some(0.2);
    out.bad_host = some(0.2);
    return out;
}

}  // namespace tunefarm::simulation
