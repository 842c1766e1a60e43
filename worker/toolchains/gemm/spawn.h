// SPDX-License-Identifier: MIT
// Runs one program to its end, in a given directory, with its words captured. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace tunefarm::gemm {

struct Finished {
    int exit_code = 0;  ///< -1 when a signal ended it
    int signal = 0;
    std::string log;          ///< the last 16 KiB of its stdout and stderr
    std::int64_t cpu_us = 0;  ///< user + system of the program and what it waited for
    std::int64_t wall_us = 0;
};

/// `arguments[0]` is the program's path. The child stays in the caller's process group, has /dev/null as stdin, and
/// inherits neither the protocol's descriptors nor any other.
Result<Finished> run_program(const std::vector<std::string>& arguments, const std::string& directory);

/// The first executable file of that name in PATH, then in `more`; empty if there is none.
std::string find_program(const std::string& name, const std::vector<std::string>& more = {});

}  // namespace tunefarm::gemm
