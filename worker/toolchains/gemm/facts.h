// SPDX-License-Identifier: MIT
// What the compiler's output tells about a kernel. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "worker/toolchains/gemm/space.h"

namespace tunefarm::gemm {

/// GPU: vgpr, agpr, sgpr, lds_bytes, scratch_bytes, vgpr_spills, sgpr_spills from the code object's metadata.
/// CPU: spills and reloads, counted from the comments that clang writes beside them.
std::map<std::string, std::int64_t> assembly_facts(std::string_view assembly, const Target& target);

/// Bytes of the executable sections of a 64-bit little-endian ELF object; 0 if it is something else.
std::int64_t text_bytes(std::string_view object);

/// Writes a file in a private directory: neither atomic nor durable.
Status write_scratch_file(const std::string& path, std::string_view content);

}  // namespace tunefarm::gemm
