// SPDX-License-Identifier: MIT
// The typed allow-list of global parameters. Configs are input, not code: upstream's parameters that name programs,
// paths, scripts or extra arguments are set by the worker and refused here, whatever their value.
#pragma once

#include <string>
#include <string_view>

#include "coordinator/plan/yaml_tree.h"

namespace tunefarm::plan {

/// What is wrong with the parameter, to be read after its name; empty if it is allowed.
std::string check_global_parameter(std::string_view key, const YamlNode& value);

/// The key's name says that its value is a program, a path or arguments.
bool names_host_things(std::string_view key);

}  // namespace tunefarm::plan
