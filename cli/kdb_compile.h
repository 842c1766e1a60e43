// SPDX-License-Identifier: MIT
// Assembles kernels with one of this host's clangs. Programs are started with an argument vector, never by a shell.
#pragma once

#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/types.h"

namespace tunefarm::cli {

struct Assembler {
    std::string name;     ///< "clang-19"
    std::string program;  ///< path
    std::string version;  ///< first line of --version
    Digest fingerprint;   ///< compiler, linker and their shared libraries
};

/// The clangs of this host in the order in which they are tried: 19 and older first, since newer ones write a code
/// object version that older ROCm does not load. kUnavailable, with the packages to install, when there is none.
Result<std::vector<Assembler>> find_assemblers();

struct Assembled {
    std::string object;  ///< empty: failed, `log` says why
    std::string log;
    Micros cpu{0};
};

/// `source` is a file name in `directory`, `args` the kernel's argument string, in which -mcpu= is replaced by
/// `target_id`; `output` is the name of a file in `directory`, which is removed again. An error is this host's fault.
/// Thread-safe for different outputs.
Result<Assembled> assemble(const Assembler& assembler, const std::string& directory, const std::string& source,
                           const std::string& args, const std::string& target_id, const std::string& output);

/// What `assemble` runs.
std::vector<std::string> assembler_command(const Assembler& assembler, const std::string& source,
                                           const std::string& args, const std::string& target_id,
                                           const std::string& output);

}  // namespace tunefarm::cli
