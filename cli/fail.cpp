// SPDX-License-Identifier: MIT
#include <cstdio>

#include "cli/commands.h"

namespace tunefarm::cli {

int fail(const Error& error) {
    std::fprintf(stderr, "tunefarm: %s\n", error.message.c_str());
    return error.kind == ErrorKind::kInput || error.kind == ErrorKind::kNotFound ? kExitUsage : kExitFarmFailed;
}

}  // namespace tunefarm::cli
