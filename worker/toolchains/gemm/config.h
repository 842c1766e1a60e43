// SPDX-License-Identifier: MIT
// From a normalised config (docs/drivers.md) to units: one per (problem type, problem-size group). Hostile input is
// expected here: everything is checked, nothing is materialised beyond the named limits. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "worker/toolchains/gemm/space.h"

namespace tunefarm::gemm {

/// A failure that is to be told as an `error` event.
struct Failure {
    std::string klass = "input";  ///< "input", "environment" or "internal"
    std::string message;
    std::string path;                  ///< of config errors, such as "BenchmarkProblems[0][1].ForkParameters.DepthU"
    std::vector<std::string> allowed;  ///< what could stand there
    std::string log;                   ///< the words of a program that failed
};

inline constexpr std::uint64_t kMaxPermutations = 1'000'000;  ///< of one step's exhaustive prepare
inline constexpr std::size_t kMaxProblems = 100'000;          ///< of one step, after the expansion of ranges
inline constexpr std::int64_t kMaxExtent = 1 << 20;           ///< of M, N, K and leading dimensions

/// One axis of the permutations: an element sets one parameter (a fork) or several at once (an element of Groups).
using Setting = std::vector<std::pair<Parameter, int>>;
using Axis = std::vector<Setting>;

struct Unit {
    std::size_t index = 0;  ///< in the config, from 0
    std::size_t entry = 0;  ///< BenchmarkProblems[entry]
    std::size_t group = 0;  ///< the group's position in its entry, from 0
    ProblemType type;
    Point constants = automatic_point();
    std::vector<Axis> axes;  ///< forks in the order of the space, then the groups
    std::uint64_t permutations = 1;
    std::size_t size_entries = 0;
    std::vector<Problem> problems;  ///< in the file's order, each once
    std::string cache_key;          ///< TensileLite's rule: 12 hex digits over constants, forks and groups

    /// TensileLite's name of the group: "<problem type>_<group, two digits>".
    std::string group_name() const;
    /// Permutation i as a mixed-radix number, first axis fastest. Precondition: i < permutations.
    Point permutation(std::uint64_t i) const;
};

/// All units, or false with the first failure.
bool read_units(const nlohmann::ordered_json& config, std::vector<Unit>* units, Failure* failure);

}  // namespace tunefarm::gemm
