// SPDX-License-Identifier: MIT
// A config file, checked: what the planner knows of it without asking a toolchain. The grammar is TensileLite's
// (docs/configs.md). A Config is immutable after loading and may be read by any thread; copies share the tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/plan/problem_sizes.h"
#include "coordinator/plan/yaml_tree.h"

namespace tunefarm::plan {

/// A named list of values. The nodes belong to the config's tree.
struct Parameter {
    std::string name;
    std::vector<const YamlNode*> values;  ///< at least one
};

/// One axis of `ForkParameters: - Groups:`; each element is a map that sets several parameters at once.
using GroupAxis = std::vector<const YamlNode*>;

/// One step for each (problem type, problem-size group), in file order.
struct Step {
    std::uint32_t index = 0;  ///< within the config
    std::uint32_t entry = 0;  ///< of BenchmarkProblems
    std::uint32_t group = 0;  ///< within its entry
    const YamlNode* problem_type = nullptr;
    const YamlNode* body = nullptr;  ///< the problem-size group
    std::string problem;             ///< for people: "GEMM TN H/H/S batched bias"
    std::vector<Parameter> common;   ///< BenchmarkCommonParameters; repeated key: last value, first position
    std::vector<Parameter> forks;    ///< ForkParameters, the same way, without Groups
    std::vector<GroupAxis> groups;
    std::vector<std::string> custom_kernels;
    ProblemSizes problem_sizes;
    /// Product of the lengths of all parameters (fork parameters replace common ones of the same name) and group axes;
    /// 1 without fork parameters. Duplicates and invalid combinations count: only a toolchain can tell them.
    std::uint64_t fork_permutations = 1;
    bool result_driven = false;  ///< its search reads each evaluation's results (Backend.Name is not Tensile)
};

struct Config {
    std::string path;                ///< as given
    std::string toolchain;           ///< top-level `Toolchain`, else "tensilelite"
    std::vector<std::string> marks;  ///< TestParameters.marks
    std::string backend;             ///< Backend.Name as written, "Tensile" if absent
    std::vector<Step> steps;         ///< at least one
    std::shared_ptr<const YamlTree> tree;
};

/// Reads and checks a config. A wrong file is kInput, "<path>:<line>:<column>: <key>: <what is wrong and allowed>";
/// a missing file kNotFound. Nothing of the file is executed or followed.
Result<Config> load_config(const std::string& path);
/// The same for bytes that are already read; `path` is only for messages.
Result<Config> parse_config(std::string_view bytes, const std::string& path);

}  // namespace tunefarm::plan
