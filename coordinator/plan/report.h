// SPDX-License-Identifier: MIT
// What `tunefarm plan` prints.
#pragma once

#include <string>
#include <vector>

#include "coordinator/plan/units.h"

namespace tunefarm::plan {

struct PlannedConfig {
    std::string path;
    std::string toolchain;
    std::vector<Unit> units;
};

/// {"version":1,"configs":[…]}; the shape is documented in docs/configs.md. Ends with a newline.
std::string plan_json(const std::vector<PlannedConfig>& configs);

/// A table for people with gates, their reasons, and an estimate. `targets` may be empty.
std::string plan_text(const std::vector<PlannedConfig>& configs, const std::vector<std::string>& targets);

/// A Graphviz digraph: one node per step, one edge per gate, from holder to waiter.
std::string plan_dot(const std::vector<PlannedConfig>& configs);

}  // namespace tunefarm::plan
