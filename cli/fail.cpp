// SPDX-License-Identifier: MIT
#include <cstdio>

#include "cli/commands.h"

namespace tunefarm::cli {

int fail(const Error& error) {
    std::fprintf(stderr, "tunefarm: %s\n", error.message.c_str());
    return error.kind == ErrorKind::kInput || error.kind == ErrorKind::kNotFound ? kExitUsage : kExitFarmFailed;
}

Error no_results(const std::string& directory) {
    return Error{ErrorKind::kInput, directory +
                                        ": no results here (no tunefarm.db); name the directory that "
                                        "`tunefarm run --out DIR` wrote"};
}

}  // namespace tunefarm::cli
