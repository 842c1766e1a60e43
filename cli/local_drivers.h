// SPDX-License-Identifier: MIT
// The toolchain drivers of this host: the built-in ones beside the binary, and those named on the command line.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "coordinator/plan/config.h"
#include "coordinator/plan/report.h"

namespace tunefarm::cli {

/// The folder of the running binary.
std::string program_directory();

/// The environment variables that say where TensileLite is, and which Python imports it (default /usr/bin/python3).
inline constexpr const char* kTensileLiteRoot = "TENSILELITE_ROOT";
inline constexpr const char* kTensileLitePython = "TENSILELITE_PYTHON";

/// Checks `--toolchain-root DIR` and puts it into TENSILELITE_ROOT, for this process and the workers that it starts.
Status set_toolchain_root(const std::string& directory);

/// kInput if the config is of another toolchain than `toolchain`; empty allows any.
Status expect_toolchain(const plan::Config& config, const std::string& toolchain);

/// Built-in drivers first (TensileLite's only where TENSILELITE_ROOT is set); an argument of the same toolchain
/// replaces a built-in one.
Result<std::vector<DriverArgument>> local_drivers(const std::vector<std::string>& arguments);

/// Asks the config's toolchain on this host to split it, in a private temporary directory. kUnavailable: no driver for
/// the toolchain; kInput: the config is wrong, with file, line and column.
Result<std::vector<plan::Unit>> split_here(const plan::Config& config, const std::vector<DriverArgument>& drivers);

}  // namespace tunefarm::cli
