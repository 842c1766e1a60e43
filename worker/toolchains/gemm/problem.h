// SPDX-License-Identifier: MIT
// What a gemm step computes: the problem type (data types, transposes) and its sizes, in TensileLite's conventions:
// D(M×N) = alpha·A·B + beta·C per batch, all column-major; A is i×l, or l×i with TransposeA; B is l×j, or j×l with
// TransposeB. Plain values, no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tunefarm::gemm {

enum class DataType { kFloat, kDouble, kHalf };

/// 's', 'd', 'h' in either case, or "float", "double", "half".
std::optional<DataType> parse_data_type(std::string_view text);
/// 'S', 'D', 'H'.
char to_char(DataType type);
int size_of(DataType type);

/// Half problems accumulate in float (TensileLite's HighPrecisionAccumulate); the others in their own type.
struct ProblemType {
    DataType type = DataType::kFloat;
    bool transpose_a = false;
    bool transpose_b = false;
    bool use_beta = true;
    bool batched = true;

    bool operator==(const ProblemType&) const = default;
    /// TensileLite's ProblemType string, such as "Cijk_Ailk_Bljk_S_B" or "Cijk_Alik_Bljk_HHS_BH".
    std::string name() const;
};

/// One problem: [M, N, batch, K] and the leading dimensions (0: the tight one).
struct Problem {
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t batch = 1;
    std::int64_t k = 0;
    std::int64_t ldd = 0;
    std::int64_t ldc = 0;
    std::int64_t lda = 0;
    std::int64_t ldb = 0;

    bool operator==(const Problem&) const = default;
    /// "MxNxBxK", followed by "_ld<ldd>x<ldc>x<lda>x<ldb>" where a leading dimension is not tight.
    std::string name() const;
    double flop() const;
    /// The same problem with every leading dimension filled in.
    Problem with_leading_dimensions(const ProblemType& type) const;
};

}  // namespace tunefarm::gemm
