// SPDX-License-Identifier: MIT
// doctor: what this host can do for which targets, and what to do about the rest.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/target.h"
#include "cli/commands.h"
#include "cli/doctor_findings.h"
#include "cli/local_drivers.h"

namespace tunefarm::cli {

std::string doctor_text(const std::vector<Finding>& findings) {
    std::string out;
    std::string area;
    int problems = 0;
    int notes = 0;
    for (const Finding& finding : findings) {
        if (finding.area != area) out += (out.empty() ? "" : "\n") + finding.area + "\n";
        area = finding.area;
        out += fmt::format("  {:<8} {}: {}\n", to_string(finding.level), finding.subject, finding.meaning);
        if (!finding.advice.empty()) out += fmt::format("           -> {}\n", finding.advice);
        problems += finding.level == Finding::Level::kProblem ? 1 : 0;
        notes += finding.level == Finding::Level::kNote ? 1 : 0;
    }
    return out + fmt::format("\n{} problems, {} notes\n", problems, notes);
}

std::string doctor_json(const HostFacts& facts, const std::vector<std::string>& wanted) {
    using Json = nlohmann::ordered_json;
    Json targets = Json::array();
    for (const TargetFact& target : targets_of(facts, wanted)) {
        targets.push_back(
            Json{{"target", target.target}, {"built_by", target.builders}, {"measured", target.measured}});
    }
    Json findings = Json::array();
    for (const Finding& finding : findings_of(facts, wanted)) {
        findings.push_back(Json{{"area", finding.area},
                                {"level", to_string(finding.level)},
                                {"subject", finding.subject},
                                {"meaning", finding.meaning},
                                {"advice", finding.advice.empty() ? Json(nullptr) : Json(finding.advice)}});
    }
    return Json{{"version", 1},
                {"can_tune", can_tune(facts, wanted)},
                {"targets", std::move(targets)},
                {"findings", std::move(findings)}}
        .dump(-1, ' ', false, Json::error_handler_t::replace);
}

int doctor(const DoctorOptions& options) {
    const auto drivers = local_drivers(options.drivers);
    if (!drivers.ok()) return fail(drivers.error());
    const HostFacts facts = look_at_host(*drivers, options.directory);
    std::vector<std::string> devices;
    for (const DeviceFact& device : facts.devices) devices.push_back(device.target);
    std::vector<std::string> wanted;
    for (const std::string& name : options.targets) wanted.push_back(resolve_target(name, devices).value_or(name));
    const std::string text = options.json ? doctor_json(facts, wanted) + "\n" : doctor_text(findings_of(facts, wanted));
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        return fail(errno_error("standard output"));
    }
    return can_tune(facts, wanted) ? kExitOk : kExitStepFailed;
}

}  // namespace tunefarm::cli
