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

/// M, N, batch, K, then (optional) the leading dimensions of D, C, A and B; without batch for unbatched problems. A
/// grouped problem (an Exact whose `sizes` is a list of lists) is one Size: its members one after another.
using Size = std::vector<std::int64_t>;

/// Sizes of one config, all steps together. More are not a benchmark but a mistake in a Range.
inline constexpr std::uint64_t kMaxSizesPerConfig = 1'000'000;

/// How many numbers a problem has.
struct SizeShape {
    std::size_t least = 3;           ///< 3: M, N, K; 4: with a batch
    std::size_t most = 4;            ///< more than `least` where the problem type leaves it open
    bool leading_dimensions = true;  ///< 4 more numbers may follow

    bool fits(std::size_t length) const {
        return (length >= least && length <= most) || (leading_dimensions && length >= least + 4 && length <= most + 4);
    }
};

struct ProblemSizes {
    std::uint64_t entries = 0;  ///< of the file: an Exact, a Range … each counts 1
    std::vector<Size> sizes;
};

/// `list` is the value of ProblemSizes (null: none). `budget` is what is left of kMaxSizesPerConfig and is reduced.
/// Errors are kInput, start with "<file>:<line>:<column>: " and name the key.
Result<ProblemSizes> expand_problem_sizes(const YamlNode& list, SizeShape shape, const std::string& file,
                                          std::uint64_t& budget);

/// What upstream takes for a step without BenchmarkFinalParameters: one Range of 64, 128, 256 and 448 cubed.
ProblemSizes default_problem_sizes(bool batched);

}  // namespace tunefarm::plan
