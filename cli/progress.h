// SPDX-License-Identifier: MIT
// The running commentary of a campaign on standard error: one line that rewrites itself on a terminal, else a line
// every few seconds.
#pragma once

#include <chrono>
#include <string>

#include "coordinator/server/core.h"

namespace tunefarm::cli {

/// "12/87 tasks, 2 running, 41 s left, 12.1 s elapsed, 1.08 x the lower bound".
std::string progress_text(const server::Progress& progress, double elapsed_s);

class ProgressLine {
  public:
    ProgressLine();
    void show(const server::Progress& progress);
    /// Removes an unfinished line.
    void clear();
    double elapsed_s() const;

  private:
    using Clock = std::chrono::steady_clock;
    bool terminal_;
    bool shown_ = false;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point next_ = Clock::now();
};

}  // namespace tunefarm::cli
