// SPDX-License-Identifier: MIT
// Problem sizes of a step: `Exact` and `Range` entries, expanded in file order (first index fastest) and without
// duplicates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/plan/yaml_tree.h"

namespace tunefarm::plan {

/// M, N, batch, K, then (optional) the leading dimensions of D, C, A and B. A grouped problem (an Exact with a list of
/// `sizes`) is one Size: its members one after another.
using Size = std::vector<std::int64_t>;

/// Sizes of one config, all steps together. More are not a benchmark but a mistake in a Range.
inline constexpr std::uint64_t kMaxSizesPerConfig = 1'000'000;

struct ProblemSizes {
    std::uint64_t entries = 0;  ///< of the file: an Exact, a Range … each counts 1
    std::vector<Size> sizes;
};

/// `list` is the value of ProblemSizes (null: none). `budget` is what is left of kMaxSizesPerConfig and is reduced.
/// Errors are kInput, start with "<file>:<line>:<column>: " and name the key.
Result<ProblemSizes> expand_problem_sizes(const YamlNode& list, const std::string& file, std::uint64_t& budget);

}  // namespace tunefarm::plan
