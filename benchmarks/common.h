// SPDX-License-Identifier: MIT
// What the benchmarks share: the machine that a figure belongs to, temporary directories, and the worker process that a
// LocalFarm starts from this very program.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace tunefarm::benchmark {

/// "AMD EPYC 9B14, 2 usable CPUs, 24 GiB, Linux 6.1.0, load 0.4".
std::string machine();

/// Ends the program with exit code 3 and the message.
[[noreturn]] void fail(const Error& error);

template <typename T>
T need(Result<T> result) {
    if (!result.ok()) fail(result.error());
    return std::move(result).value();
}
void need(const Status& status);

/// CPUs that this process may use.
std::uint32_t usable_cpus();

/// A new directory under TMPDIR (or /tmp), removed with all its content at the end of the scope.
class TemporaryDirectory {
  public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace tunefarm::benchmark
