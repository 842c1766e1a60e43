// SPDX-License-Identifier: MIT
// Facts in, findings out: what they mean and what to do. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor_facts.h"

namespace tunefarm::cli {

struct Finding {
    enum class Level : std::uint8_t { kOk, kNote, kProblem };
    std::string area;  ///< "target", "gpu", "cpu", "memory", "disk", "limits", "library", "clock"
    Level level = Level::kOk;
    std::string subject;
    std::string meaning;
    std::string advice;  ///< what to do; empty for most that are ok
};

const char* to_string(Finding::Level level);

struct TargetFact {
    std::string target;
    std::vector<std::string> builders;  ///< toolchains that can build for it here
    bool measured = false;              ///< some device here runs it, and a toolchain can measure it
};

/// What can be built here, by name; `wanted` ones first and always there.
std::vector<TargetFact> targets_of(const HostFacts& facts, const std::vector<std::string>& wanted);

/// In the order of the areas.
std::vector<Finding> findings_of(const HostFacts& facts, const std::vector<std::string>& wanted);

/// Every wanted target can be built here; with none wanted, some target can.
bool can_tune(const HostFacts& facts, const std::vector<std::string>& wanted);

std::string doctor_text(const std::vector<Finding>& findings);
/// The documented shape of `doctor --json` (docs/doctor.md).
std::string doctor_json(const HostFacts& facts, const std::vector<std::string>& wanted);

}  // namespace tunefarm::cli
