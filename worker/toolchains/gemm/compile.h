// SPDX-License-Identifier: MIT
// C source → assembly → object, and objects → shared library, by clang-22 and lld-22. Output bytes depend on the
// source, gemm_kernel.h, the target and the programs alone: files have fixed names, and no path enters an output.
// Failures with diagnostics are class "input"; a program that cannot start or was killed is "environment".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "worker/toolchains/gemm/config.h"
#include "worker/toolchains/gemm/space.h"

namespace tunefarm::gemm {

/// Where the programs and our header are. Empty paths: not found.
struct Tools {
    std::string driver;  ///< this program
    std::string folder;  ///< holds gemm_kernel.h
    std::string clang;
    std::string linker;  ///< ld.lld-22

    /// From PATH; the header beside the driver program.
    static Tools find(const std::string& driver_path);
    std::string header() const { return folder + "/gemm_kernel.h"; }
};

struct Compiled {
    std::map<std::string, std::int64_t> phases;  ///< "compile", "assemble" (or "link") → microseconds
    std::map<std::string, std::int64_t> facts;   ///< docs/gemm.md lists them
    std::int64_t cpu_us = 0;
};

/// Compiles and assembles `source` in `directory` (kernel.c, kernel.s) into `directory`/`object`.
bool compile_kernel(const Tools& tools, const Target& target, const std::string& source, const std::string& directory,
                    const std::string& object, Compiled* compiled, Failure* failure);

/// Compiles the helper's source file into the shared library `directory`/`library`. It runs on the host also for GPU
/// targets, so it is compiled for x86-64-v3 always.
bool compile_helper(const Tools& tools, const std::string& source, const std::string& directory,
                    const std::string& library, Compiled* compiled, Failure* failure);

/// Links `objects` (paths, in this order) into `directory`/`library`.
bool link_library(const Tools& tools, const Target& target, const std::vector<std::string>& objects,
                  const std::string& directory, const std::string& library, Compiled* compiled, Failure* failure);

/// Whether the compiler can assemble for `target`, by assembling one instruction that only it has. `log` gets its
/// words.
bool can_assemble(const Tools& tools, const Target& target, const std::string& directory, std::string* log);

}  // namespace tunefarm::gemm
