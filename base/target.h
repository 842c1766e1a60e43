// SPDX-License-Identifier: MIT
// Names of targets: what results are for. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tunefarm {

/// Whether a device of target `device` runs code that was built for `wanted`: the same name, or a lower psABI level of
/// x86-64 ("x86-64-v3" code runs on an "x86-64-v4" device).
bool runs_on(std::string_view device, std::string_view wanted);

/// "x86-64" and "host" stand for the target of the best x86-64 device in `devices`; every other name stands for itself.
/// nullopt: there is no such device.
std::optional<std::string> resolve_target(const std::string& name, const std::vector<std::string>& devices);

}  // namespace tunefarm
