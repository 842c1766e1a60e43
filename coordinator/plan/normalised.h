// SPDX-License-Identifier: MIT
// The normalised config: what a driver gets to see instead of the file (docs/drivers.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "coordinator/plan/config.h"

namespace tunefarm::plan {

/// One JSON object on one line, keys in file order. Equal configs give equal bytes: comments, layout, quoting, anchors
/// and ignored top-level keys leave no trace.
std::string normalised_json(const Config& config);

/// A node as JSON on one line.
std::string to_json(const YamlNode& node);

/// Where a driver's error path is in the file: "BenchmarkProblems[0][1].ForkParameters.DepthU[2]". Names and [n] may
/// follow each other freely; a name in a list of maps means its last map with that key. The deepest part of the path
/// that exists is used; nullopt if not even the first does.
std::optional<Mark> locate(const Config& config, std::string_view path);

/// "file:line:column" of `path`, or the config's path alone.
std::string place_of(const Config& config, std::string_view path);

/// A toolchain's refusal for people: "file:line:column: path: message; allowed: …". `path` and `allowed` may be empty.
std::string refusal_text(const Config& config, std::string_view path, std::string_view message,
                         std::string_view allowed);

}  // namespace tunefarm::plan
