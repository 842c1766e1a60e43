// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "build_paths.h"
#include "worker/runner/driver.h"
#include "worker/runner/process_table.h"

namespace tunefarm::worker {

/// A private directory that goes with the test.
class TemporaryDirectory {
  public:
    TemporaryDirectory() : path(make_temporary_directory("/tmp/tunefarm-test-").value()) {}
    ~TemporaryDirectory() { EXPECT_TRUE(remove_tree(path).ok()); }
    const std::string path;
};

/// Children of this process, dead or alive, and living processes that run `command_part`.
inline std::vector<pid_t> children_left() {
    std::vector<pid_t> left;
    for (const ProcessInfo& info : list_processes()) {
        if (info.parent == ::getpid()) left.push_back(info.pid);
    }
    return left;
}

inline DriverOptions python_driver(const std::string& toolchain, const std::string& script,
                                   const std::string& directory, const std::string& mode = "") {
    DriverOptions options;
    options.toolchain = toolchain;
    options.command = {"python3", "-S", "-B", std::string(TUNEFARM_SOURCE_DIR) + script};
    if (!mode.empty()) options.command.push_back(mode);
    options.directory = directory;
    options.environment = clean_environment(directory, {});
    options.hello_limit = Micros{20'000'000};
    options.cancel_grace = Micros{50'000};
    return options;
}

}  // namespace tunefarm::worker
