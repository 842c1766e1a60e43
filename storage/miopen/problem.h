// SPDX-License-Identifier: MIT
// A convolution problem as MIOpen's databases name it, and the two spellings of its name: the key of a find-db
// (conv/problem_description.cpp, Serialize) and the key of a perf-db (its columns, joined by 'x').
//
//   find-db 2D: C-H-W-RxS-K-Ho-Wo-N-PHxPW-SHxSW-DHxDW-bias-LAYOUT-TYPE-DIR[_gG][_ciT][_cwT][_coT]
//   find-db 3D: C-D-H-W-ZxRxS-K-Do-Ho-Wo-N-PDxPHxPW-SDxSHxSW-DDxDHxDW-bias-LAYOUT-TYPE-DIR[...]
//   perf-db:    dims x C x H x W x D x R x S x Z x K x N x PH x PW x PD x SH x SW x SD x DH x DW x DD
//               x bias x groups x in_layout x TYPE x DIR      (without the spaces)
//
// `in` and `out` are the problem's, not the driver's: for B and W, `in` is the gradient dy. What is parsed is printed
// again byte for byte; a spelling that would not be (leading zeros, a group count of 1, equal types written three
// times) is refused, as upstream's database test does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tunefarm::miopen {

enum class DataType : std::uint8_t { kFp32, kFp16, kBf16, kInt8, kInt32, kFp8, kBf8, kBfp8, kFp64, kInt64 };

/// "FP32": the name in keys.
std::string_view to_string(DataType type);
/// From the name in keys.
std::optional<DataType> parse_data_type(std::string_view name);

/// "NCHW" (any order of the letters) has 4 or 5 dimensions, "NCHWc" is a vectorised one. 0: not a layout.
int layout_dimensions(std::string_view layout);

struct Extent {
    std::int64_t d = 0;
    std::int64_t h = 0;
    std::int64_t w = 0;
    auto operator<=>(const Extent&) const = default;
};

/// In a 2D problem depth is what perf-db rows hold: 1 for `in`, `out` and `filter`, 0 for the rest.
struct ConvProblem {
    int spatial_dims = 2;
    std::int64_t in_channels = 1;
    std::int64_t out_channels = 1;
    std::int64_t batch = 1;
    Extent in{1, 1, 1};
    Extent out{1, 1, 1};  ///< all 0: unknown, the problem comes from a perf-db key
    Extent filter{1, 1, 1};
    Extent pad;
    Extent stride;
    Extent dilation;
    std::int64_t bias = 0;
    std::int64_t group_count = 1;
    std::string in_layout;
    std::string weights_layout;  ///< empty: unknown, as `out`
    std::string out_layout;      ///< empty: unknown, as `out`
    DataType in_type = DataType::kFp32;
    DataType weights_type = DataType::kFp32;
    DataType out_type = DataType::kFp32;
    char direction = 'F';  ///< F, B (data gradient) or W (weight gradient)
    std::optional<DataType> in_cast;
    std::optional<DataType> weights_cast;
    std::optional<DataType> out_cast;

    bool operator==(const ConvProblem&) const = default;
    /// False for what a perf-db key says: without output size, the other two layouts and cast types.
    bool complete() const { return out.h > 0; }
};

/// kInput, with the place inside the key. No allocation besides the error.
Result<ConvProblem> parse_find_key(std::string_view key);
Result<ConvProblem> parse_perf_key(std::string_view key);

/// Precondition: complete().
std::string to_find_key(const ConvProblem& problem);
/// Drops what perf-dbs do not hold: several find-db keys can have one perf-db key.
std::string to_perf_key(const ConvProblem& problem);
/// The same into `key`, whose memory is reused.
void to_find_key(const ConvProblem& problem, std::string& key);
void to_perf_key(const ConvProblem& problem, std::string& key);

}  // namespace tunefarm::miopen
