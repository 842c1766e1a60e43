// SPDX-License-Identifier: MIT
// BenchmarkFinalParameters: Exact and Range problem sizes, expanded and each kept once, in the file's order. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "worker/toolchains/gemm/config.h"

namespace tunefarm::gemm {

/// Fills unit->problems and unit->size_entries from `section`; unit->type must be set. Absent: one default size, as
/// TensileLite has it. False with the failure otherwise.
bool read_sizes(const nlohmann::ordered_json& section, const std::string& path, Unit* unit, Failure* failure);

}  // namespace tunefarm::gemm
