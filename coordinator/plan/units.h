// SPDX-License-Identifier: MIT
// What `split` yields for a config: one unit for each of its steps, per target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/plan/config.h"

namespace tunefarm::plan {

struct Unit {
    std::uint32_t index = 0;  ///< within the config, from 0 without holes
    std::uint32_t entry = 0;
    std::uint32_t group = 0;  ///< within its entry
    std::string problem;
    /// nullopt: only the toolchain can tell, and it was not asked or is not there.
    std::optional<std::string> group_name;
    std::optional<std::string> cache_key;
    /// Set by a toolchain whose cache directories are not `<group_name>/…/<cache_key>`.
    std::optional<std::string> cache_directory;
    std::uint64_t fork_permutations = 0;
    std::uint64_t size_entries = 0;
    std::vector<Size> problem_sizes;
    std::vector<std::string> custom_kernels;
    bool result_driven = false;

    bool operator==(const Unit&) const = default;
};

/// Units of one config; a driver that claims more is broken.
inline constexpr std::size_t kMaxUnits = 100'000;

/// Permutations that one exhaustive step may enumerate, build and measure; more is a mistake in the config. A plan
/// counts further than this.
inline constexpr std::uint64_t kMaxExhaustive = 1'000'000;

/// Reads the result of `split`. It comes from a driver and is not trusted: anything missing, mistyped, out of range or
/// out of order is kCorruption, with the unit and field.
Result<std::vector<Unit>> parse_units(std::string_view json);

/// Units as far as the file tells them: group names and cache keys are unknown.
std::vector<Unit> units_of(const Config& config);

/// `{"units":[…]}`, the inverse of parse_units.
std::string units_json(const std::vector<Unit>& units);

}  // namespace tunefarm::plan
