// SPDX-License-Identifier: MIT
// The parameter space of the gemm family: names, values, defaults and validity rules per target. Names are
// TensileLite's where they mean the same (docs/gemm.md lists all). Everything here is pure and thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "worker/toolchains/gemm/problem.h"

namespace tunefarm::gemm {

/// What a target is to the generator.
struct Target {
    std::string name;
    bool gpu = false;
    int vector_bytes = 0;  ///< CPU: bytes of a vector register
    int registers = 0;     ///< CPU: vector registers
    int lds_bytes = 0;     ///< GPU: LDS of one work group

    bool offers(DataType type) const { return gpu ? type != DataType::kDouble : type != DataType::kHalf; }
};

const std::vector<Target>& targets();
const Target* find_target(std::string_view name);

/// The order is the enumeration's: the first parameter varies fastest. Append only: it shows in permutation numbers.
enum Parameter : std::size_t {
    kMacroTile0,
    kMacroTile1,
    kDepthU,
    kVectorWidth,
    kThreadTile0,
    kThreadTile1,
    kUnrollK,
    kPrefetchDistance,
    kPrefetchC,
    kPackA,
    kPackB,
    kLoopOrder,
    kPrefetchGlobalRead,
    kLdsPadA,
    kLdsPadB,
    kParameters
};

/// A point of the space. kAuto stands for the target's own choice.
using Point = std::array<int, kParameters>;
inline constexpr int kAuto = -1;

struct ParameterInfo {
    const char* name;
    const char* short_name;  ///< in kernel names
    int low;                 ///< values low … high are allowed, and kAuto
    int high;
    bool power_of_two;  ///< of these only the powers of two, and 0 where low is 0
    bool on_cpu;
    bool on_gpu;
    const char* meaning;

    bool allows(std::int64_t value) const;
    /// "-1 (automatic), 1, 2, 4, 8, 16" or "-1 (automatic), 1 to 4096".
    std::string allowed_text() const;
};

const std::array<ParameterInfo, kParameters>& parameters();
std::optional<Parameter> find_parameter(std::string_view name);
Point automatic_point();

/// Fills in every kAuto, and sets parameters without a meaning on this target to 0, so that equal code has equal
/// points.
Point resolve(const Point& point, const ProblemType& type, const Target& target);

/// Why a resolved point cannot be a kernel ("ThreadTile0 12 is not a multiple of VectorWidth 8"); nullopt if it can.
std::optional<std::string> invalid_reason(const Point& point, const ProblemType& type, const Target& target);

/// Unique per (problem type, resolved point): also the kernel's symbol.
std::string kernel_name(const ProblemType& type, const Point& point, const Target& target);

/// Bytes of scratch memory that a CPU kernel needs for its packed panels; 0 on GPUs.
std::int64_t workspace_bytes(const Point& point, const ProblemType& type, const Target& target);
/// Bytes of LDS that a GPU kernel uses.
std::int64_t lds_bytes(const Point& point, const ProblemType& type);

}  // namespace tunefarm::gemm
