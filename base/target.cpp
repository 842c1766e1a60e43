// SPDX-License-Identifier: MIT
#include "base/target.h"

namespace tunefarm {
namespace {

constexpr std::string_view kX86 = "x86-64";

/// 1 for "x86-64", 2 … 4 for its levels, 0 for anything else.
int x86_level(std::string_view target) {
    if (target == kX86) return 1;
    if (target.size() != kX86.size() + 3 || !target.starts_with(kX86)) return 0;
    const std::string_view level = target.substr(kX86.size());
    return level >= "-v2" && level <= "-v4" ? level[2] - '0' : 0;
}

}  // namespace

bool runs_on(std::string_view device, std::string_view wanted) {
    if (device == wanted) return true;
    return x86_level(wanted) > 0 && x86_level(device) > x86_level(wanted);
}

std::optional<std::string> resolve_target(const std::string& name, const std::vector<std::string>& devices) {
    if (name != kX86 && name != "host") return name;
    const std::string* best = nullptr;
    for (const std::string& device : devices) {
        if (x86_level(device) > 0 && (best == nullptr || x86_level(device) > x86_level(*best))) best = &device;
    }
    if (best != nullptr) return *best;
    return std::nullopt;
}

}  // namespace tunefarm
