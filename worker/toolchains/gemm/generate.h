// SPDX-License-Identifier: MIT
// C source of kernels and of the helper. Pure: the same arguments give the same bytes, on any host.
#pragma once

#include <string>

#include "worker/toolchains/gemm/space.h"

namespace tunefarm::gemm {

/// The source of one kernel; its symbol is kernel_name(type, point, target).
/// Precondition: `point` is resolved and invalid_reason() has nothing against it.
std::string generate_kernel(const ProblemType& type, const Point& point, const Target& target);

/// The source of the helper: it depends on the data type alone, so that steps share it.
std::string generate_helper(DataType type);

// The two generators behind generate_kernel().
std::string generate_cpu_kernel(const ProblemType& type, const Point& point, const Target& target);
std::string generate_gpu_kernel(const ProblemType& type, const Point& point, const Target& target);

}  // namespace tunefarm::gemm
