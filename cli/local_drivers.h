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

/// Built-in drivers first; an argument of the same toolchain replaces a built-in one.
Result<std::vector<DriverArgument>> local_drivers(const std::vector<std::string>& arguments);

/// Asks the config's toolchain on this host to split it, in a private temporary directory. kUnavailable: no driver for
/// the toolchain; kInput: the config is wrong, with file, line and column.
Result<std::vector<plan::Unit>> split_here(const plan::Config& config, const std::vector<DriverArgument>& drivers);

}  // namespace tunefarm::cli
