// SPDX-License-Identifier: MIT
// A benchmark that holds a LocalFarm is its own worker program, too: LocalFarm starts /proc/self/exe as
// `worker --connect … --state … --slots N --exit-with-parent [--driver NAME=PROGRAM]…`.
#pragma once

#include <optional>

namespace tunefarm::benchmark {

/// The exit code of the worker when this process was started as one; call it first in main().
std::optional<int> run_as_worker(int argc, char** argv);

}  // namespace tunefarm::benchmark
