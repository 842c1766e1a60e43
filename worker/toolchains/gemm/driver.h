// SPDX-License-Identifier: MIT
// The verbs of toolchain gemm over the driver protocol (docs/drivers.md). Single-threaded: one request at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "worker/toolchains/gemm/compile.h"

namespace tunefarm::gemm {

inline constexpr std::size_t kMaxLine = 1 << 20;

class Driver {
  public:
    /// `emit` gets every event as one line, without its end.
    Driver(Tools tools, std::function<void(const std::string& line)> emit);
    ~Driver();

    /// Emits the hello; probes the compiler for each target, so it takes a few tenths of a second.
    void hello();
    /// Executes one request to its `done` or `error`. Any bytes are survived.
    void handle(std::string_view line);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Whether this CPU can run code of a host target.
bool cpu_runs(const Target& target);

/// Reads requests from one descriptor, writes events to another, until the first is closed. The exit status.
int serve(Tools tools, int requests, int events);

}  // namespace tunefarm::gemm
