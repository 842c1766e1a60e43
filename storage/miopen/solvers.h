// SPDX-License-Identifier: MIT
// What the databases' words mean: the names of MIOpen's convolution solvers (MIOpen 3.3, src/solver.cpp and
// conv/solvers.hpp) and of its convolution algorithms (src/conv_algo_name.cpp).
#pragma once

#include <optional>
#include <string_view>

namespace tunefarm::miopen {

enum class SolverKind {
    kTunable,     ///< has parameters: its find-db entries need a perf-db row
    kNotTunable,  ///< has none, and must have no perf-db row
    kFused,       ///< of fusion plans; tunable or not
};

/// nullopt: MIOpen 3.3 has no solver of that name (it may be newer, or removed).
std::optional<SolverKind> find_solver(std::string_view name);

/// The direction (F, B or W) of an algorithm name such as "miopenConvolutionFwdAlgoGEMM"; nullopt if it is none.
/// An item of a find-db whose ID is such a name is a legacy one (format 1.0): that is how the library tells.
std::optional<char> algorithm_direction(std::string_view name);

}  // namespace tunefarm::miopen
