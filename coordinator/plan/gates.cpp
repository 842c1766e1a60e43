// SPDX-License-Identifier: MIT
#include "coordinator/plan/gates.h"

#include <unordered_map>

namespace tunefarm::plan {
namespace {

/// Two units have equal directories only if these are equal. '\n' cannot be in a group name.
std::optional<std::string> directory_of(const Unit& unit) {
    if (unit.cache_directory) return "d" + *unit.cache_directory;
    if (unit.group_name && unit.cache_key) return "k" + *unit.group_name + "\n" + *unit.cache_key;
    return std::nullopt;
}

}  // namespace

const char* to_string(GateReason reason) {
    return reason == GateReason::kSameCacheDirectory ? "same cache directory" : "same group name";
}

std::string describe(const Gate& gate) {
    return std::string(to_string(gate.waiting_task)) + " after " + to_string(gate.held_task);
}

std::optional<std::vector<Gate>> gates_of(const std::vector<Unit>& units) {
    std::vector<Gate> gates;
    std::unordered_map<std::string, std::uint32_t> last_in_directory;
    std::unordered_map<std::string, std::uint32_t> last_of_name;
    for (const Unit& unit : units) {
        if (unit.result_driven) continue;
        const std::optional<std::string> directory = directory_of(unit);
        if (!unit.group_name || !directory) return std::nullopt;
        if (const auto holder = last_in_directory.find(*directory); holder != last_in_directory.end()) {
            gates.push_back(
                {unit.index, holder->second, GateReason::kSameCacheDirectory, TaskKind::kPrepare, TaskKind::kFinish});
        }
        if (const auto holder = last_of_name.find(*unit.group_name); holder != last_of_name.end()) {
            gates.push_back(
                {unit.index, holder->second, GateReason::kSameGroupName, TaskKind::kConclude, TaskKind::kConclude});
        }
        last_in_directory[*directory] = unit.index;
        last_of_name[*unit.group_name] = unit.index;
    }
    return gates;
}

}  // namespace tunefarm::plan
