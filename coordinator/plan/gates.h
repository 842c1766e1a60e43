// SPDX-License-Identifier: MIT
// The wait rules within one config and target, as pure functions:
//  * same cache directory as an earlier step: prepare(waiter) after finish(holder), because preparing would overwrite
//  it;
//  * same problem-size group name as an earlier step: conclude(waiter) after conclude(holder), because they publish the
//    same result files.
// Only the edge to the last earlier step of that directory or name is made: the earlier ones follow from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "coordinator/plan/units.h"

namespace tunefarm::plan {

enum class GateReason : std::uint8_t { kSameCacheDirectory, kSameGroupName };
/// "same cache directory", "same group name".
const char* to_string(GateReason reason);

/// waiting_task of unit `waiter` starts only after held_task of unit `holder` has ended. holder < waiter.
struct Gate {
    std::uint32_t waiter = 0;
    std::uint32_t holder = 0;
    GateReason reason = GateReason::kSameGroupName;
    TaskKind waiting_task = TaskKind::kConclude;
    TaskKind held_task = TaskKind::kConclude;
    bool operator==(const Gate&) const = default;
};

/// "prepare after finish".
std::string describe(const Gate& gate);

/// Ordered by waiter, cache directory first. nullopt when a unit's group name or cache directory is not known: an
/// unknown name may equal any other. Result-driven units have no edges and need no names.
std::optional<std::vector<Gate>> gates_of(const std::vector<Unit>& units);

}  // namespace tunefarm::plan
