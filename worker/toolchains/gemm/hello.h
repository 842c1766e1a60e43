// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "worker/toolchains/gemm/compile.h"

namespace tunefarm::gemm {

/// The hello event: what works here, proved by assembling one instruction per target, and what is missing and why.
std::string hello_line(const Tools& tools);

}  // namespace tunefarm::gemm
