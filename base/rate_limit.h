// SPDX-License-Identifier: MIT
// How often something may be said. For log lines that a stranger on the network can cause.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace tunefarm {

/// Lets `burst` events pass in each window of time and counts the others. Not thread-safe.
class RateLimit {
  public:
    using Clock = std::chrono::steady_clock;

    explicit RateLimit(int burst = 10, Clock::duration window = std::chrono::minutes(1))
        : burst_(burst), window_(window) {}

    /// nullopt: leave this event out. Otherwise how many were left out since the last one that passed. `now` never goes
    /// back.
    std::optional<std::uint64_t> pass(Clock::time_point now = Clock::now());

  private:
    const int burst_;
    const Clock::duration window_;
    std::optional<Clock::time_point> began_;  ///< of the window
    int passed_ = 0;                          ///< in it
    std::uint64_t left_out_ = 0;
};

/// " (37 more like it were not logged)"; empty for 0.
std::string left_out_text(std::uint64_t count);

}  // namespace tunefarm
