// SPDX-License-Identifier: MIT
// Names that configs may use, and the nearest of them to a wrong one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tunefarm::plan {

/// Common and fork parameters of TensileLite (hipBLASLt of 2024 and rocm-libraries of 2026, the union). Which values
/// each takes depends on the version and is checked by the installed one.
std::span<const std::string_view> tensilelite_parameters();

/// "; did you mean DepthU?" or, when nothing is near, "; the nearest allowed name is DepthU"; short lists are appended
/// in full: "; allowed: a, b". Starts with "; " or is empty.
std::string suggestion(std::string_view wrong, std::span<const std::string_view> allowed);

}  // namespace tunefarm::plan
