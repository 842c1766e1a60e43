// SPDX-License-Identifier: MIT
// Core: why tasks have not ended, from the predicates of graph and scheduler.
#include <algorithm>
#include <set>

#include "coordinator/server/core.h"

namespace tunefarm::server {

using schedule::ReadyTask;

std::vector<std::string> Core::unbound_reasons(const ReadyTask& task) const {
    const auto [toolchain, target] = campaigns_.requirement(task);
    std::vector<std::string> out = missing(toolchain, target);
    std::string what = "no connected worker can " + std::string(to_string(task.kind)) + " with toolchain " + toolchain;
    if (target != "*") what += " for target " + target;
    if (peers_.empty()) what = "no worker is connected";
    out.insert(out.begin(), std::move(what));
    return out;
}

std::vector<Explanation> Core::explain(CampaignId campaign, std::optional<StepId> step, std::optional<TaskKind> kind,
                                       Instant now) const {
    std::vector<Explanation> out;
    const auto wanted = [&](StepId of, TaskKind what) { return (!step || *step == of) && (!kind || *kind == what); };
    for (const auto& [id, action] : live_) {
        std::optional<schedule::Scheduler::Why> why;
        for (const ReadyTask& task : action.requesters) {
            if (task.campaign != campaign || !wanted(task.step, task.kind)) continue;
            if (!why) why = scheduler_.explain(id, now);
            out.push_back({task.config, task.step, task.kind, task.index, 1, why->running, why->lines});
        }
    }
    if (const auto unbound = unbound_.find(campaign); unbound != unbound_.end()) {
        for (const ReadyTask& task : unbound->second) {
            if (!wanted(task.step, task.kind)) continue;
            out.push_back({task.config, task.step, task.kind, task.index, 1, false, unbound_reasons(task)});
        }
    }
    for (const Parked& parked : parked_) {
        const Requester& task = parked.task;
        if (task.campaign != campaign || !wanted(task.step, task.kind)) continue;
        out.push_back({task.config,
                       task.step,
                       task.kind,
                       task.index,
                       1,
                       false,
                       {"waits until inputs that were lost have been made again"}});
    }
    for (const StepId id : campaigns_.open_steps(campaign)) {
        for (const schedule::Graph::Wait& wait : graph_.waits(id)) {
            if (!wanted(id, wait.kind)) continue;
            out.push_back({{}, id, wait.kind, 0, wait.count, false, {wait.reason}});
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const Explanation& a, const Explanation& b) {
        return std::tuple(a.step, a.kind, !a.running, a.index) < std::tuple(b.step, b.kind, !b.running, b.index);
    });
    if (kind) return out;
    std::vector<Explanation> grouped;
    for (Explanation& each : out) {
        const auto same = std::find_if(grouped.rbegin(), grouped.rend(), [&](const Explanation& other) {
            return other.step == each.step && other.kind == each.kind && other.running == each.running &&
                   other.reasons == each.reasons;
        });
        if (same != grouped.rend() && each.step.valid()) {
            same->count += each.count;
        } else {
            grouped.push_back(std::move(each));
        }
    }
    return grouped;
}

}  // namespace tunefarm::server
