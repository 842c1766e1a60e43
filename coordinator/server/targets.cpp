// SPDX-License-Identifier: MIT
#include "coordinator/server/targets.h"

#include <algorithm>

#include "base/target.h"

namespace tunefarm::server {
namespace {

std::string reasons(const Core& core, const std::string& toolchain, const std::string& target) {
    std::string out;
    for (const std::string& reason : core.missing(toolchain, target)) out += (out.empty() ? "" : "; ") + reason;
    return out;
}

}  // namespace

Status choose_targets(const Core& core, const std::vector<std::string>& asked, CampaignRequest& request,
                      std::vector<std::string>& notes) {
    if (core.workers() == 0) {
        return Error{ErrorKind::kUnavailable,
                     "no worker is connected, so nobody knows the toolchains: start one with `tunefarm worker "
                     "--connect`"};
    }
    const std::vector<std::string> devices = core.device_targets();
    std::vector<std::string> wanted = asked;
    if (wanted.empty()) {
        if (devices.empty()) {
            return Error{ErrorKind::kInput,
                         "this host has no device to measure on: name what to build for with --target"};
        }
        wanted.push_back(devices.front());
    }
    for (const std::string& name : wanted) {
        const auto target = resolve_target(name, devices);
        if (!target) return Error{ErrorKind::kInput, "--target " + name + ": this host has no x86-64 device"};
        if (std::count(request.targets.begin(), request.targets.end(), *target) > 0) continue;
        for (const CampaignConfig& config : request.configs) {
            const std::string& toolchain = config.config.toolchain;
            if (!core.can(TaskKind::kSplit, toolchain, "*")) {
                const std::string reason = reasons(core, toolchain, "*");
                return Error{
                    ErrorKind::kInput,
                    config.config.path + ": " +
                        (reason.empty() ? "there is no driver for toolchain " + toolchain +
                                              " here; built in: gemm, and tensilelite with --toolchain-root DIR; "
                                              "others: --driver NAME=PROGRAM"
                                        : "the driver of toolchain " + toolchain + " does not work: " + reason)};
            }
            if (core.can(TaskKind::kBuild, toolchain, *target)) continue;
            const std::string why = reasons(core, toolchain, *target);
            const std::string what = asked.empty()
                                         ? "this host's device is " + name + ": name another target with --target"
                                         : "--target " + name;
            return Error{ErrorKind::kInput, what + ": toolchain " + toolchain + " cannot build for it here: " +
                                                (why.empty() ? "it does not know this target" : why)};
        }
        request.targets.push_back(*target);
        const bool measurable = core.has_device(*target) && !request.build_only;
        if (measurable) {
            request.measured_targets.push_back(*target);
        } else if (!request.build_only) {
            notes.push_back("no device for " + *target + " here: its kernels are built, not measured");
        }
    }
    return {};
}

}  // namespace tunefarm::server
