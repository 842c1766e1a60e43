// SPDX-License-Identifier: MIT
// What a program really consists of: itself, its interpreter, and the shared libraries that the loader finds for it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "worker/runner/process.h"

namespace tunefarm::worker {

/// Paths of everything that executing `program` reads as code: the file itself first, then for an ELF file what its own
/// loader lists (`ld.so --list`, with `environment`, so that LD_LIBRARY_PATH counts), for a script its interpreter's.
/// Shared objects are resolved like programs. kNotFound names a library that cannot be found.
Result<std::vector<std::string>> resolve_program(const std::string& program, const Environment& environment);

}  // namespace tunefarm::worker
