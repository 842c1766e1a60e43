// SPDX-License-Identifier: MIT
#include "coordinator/schedule/graph.h"

#include <algorithm>
#include <numeric>

namespace tunefarm::schedule {
namespace {

// Steps of Johnson's second group come after all of the first: larger than any step's work in seconds, and small
// enough that a double still tells microseconds apart.
constexpr double kSecondGroup = 1e9;

}  // namespace

void Graph::set_capacity(double cpus, double devices) {
    cpus_ = std::max(1.0, cpus);
    devices_ = std::max(1.0, devices);
}

double Graph::johnson(double cpu_seconds, double device_seconds) const {
    const double a = cpu_seconds / cpus_;
    const double b = device_seconds / devices_;
    return a < b ? a : kSecondGroup - b;
}

void Graph::add_campaign(CampaignId campaign, std::int32_t configs) {
    campaigns_[campaign].splits_open = configs;
}

void Graph::add_config(CampaignId campaign, ConfigId config) {
    configs_[config] = campaign;
    ready_.push_back(ReadyTask{campaign, config, StepId{}, TaskKind::kSplit, 0});
}

void Graph::split_done(ConfigId config, const std::vector<NewStep>& steps) {
    const CampaignId id = configs_.at(config);
    Campaign& campaign = campaigns_.at(id);
    for (const NewStep& spec : steps) {
        Step step;
        step.campaign = id;
        step.config = config;
        step.spec = spec;
        step.rank = johnson(spec.cpu_seconds, spec.device_seconds);
        if (spec.prepare_after.valid()) steps_.at(spec.prepare_after).waiting_prepares.push_back(spec.id);
        if (spec.conclude_after.valid()) steps_.at(spec.conclude_after).waiting_concludes.push_back(spec.id);
        const auto it = steps_.emplace(spec.id, std::move(step)).first;
        campaign.held.push_back(spec.id);
        ++campaign.steps_open;
        change(it->second, "waiting");
    }
    --campaign.splits_open;
    release_steps(campaign);
}

void Graph::split_failed(ConfigId config, const std::string&) {
    Campaign& campaign = campaigns_.at(configs_.at(config));
    campaign.rejected = true;
    --campaign.splits_open;
    release_steps(campaign);
}

void Graph::release_steps(Campaign& campaign) {
    if (campaign.splits_open > 0 || campaign.cancelled) return;
    const std::vector<StepId> held = std::exchange(campaign.held, {});
    for (const StepId id : held) {
        Step& step = steps_.at(id);
        if (campaign.rejected) {
            end(step, StepEnd::kCancelled, "another config of the campaign was refused");
        } else {
            try_prepare(step);
        }
    }
}

void Graph::try_prepare(Step& step) {
    if (step.prepare != Part::kWaiting || step.ended) return;
    if (step.spec.prepare_after.valid()) {
        const Step& holder = steps_.at(step.spec.prepare_after);
        if (holder.ended && holder.finish != Part::kOk) {
            end(step, StepEnd::kFailed, "the step whose cache directory it shares failed");
            return;
        }
        if (holder.finish != Part::kOk) return;
    }
    step.prepare = Part::kReady;
    ready(step, TaskKind::kPrepare, 0);
    change(step, "preparing");
}

void Graph::prepared(StepId id, PreparedStep prepared) {
    Step& step = steps_.at(id);
    if (step.prepare != Part::kReady || step.ended) return;
    step.prepare = Part::kOk;
    step.kernels = static_cast<std::int32_t>(prepared.kernel_costs.size());
    step.problems = prepared.problems;
    step.finish = Part::kWaiting;
    if (step.kernels == 0) {
        end(step, StepEnd::kFailed, "no valid solution: every permutation was rejected");
        return;
    }
    step.build_order.resize(prepared.kernel_costs.size());
    std::iota(step.build_order.begin(), step.build_order.end(), 0);
    std::stable_sort(step.build_order.begin(), step.build_order.end(), [&](std::int32_t a, std::int32_t b) {
        return prepared.kernel_costs[static_cast<std::size_t>(a)] < prepared.kernel_costs[static_cast<std::size_t>(b)];
    });
    building_[step.campaign].insert({step.rank, id});
    change(step, "building");
    if (prepared.helper) {
        step.helper = Part::kReady;
        ready(step, TaskKind::kHelper, 0);
    }
}

void Graph::task_ended(StepId id, TaskKind kind, bool ok, const std::string& message) {
    Step& step = steps_.at(id);
    if (step.ended) return;
    const Part part = ok ? Part::kOk : Part::kFailed;
    switch (kind) {
        case TaskKind::kPrepare:
            if (!ok) {
                step.prepare = Part::kFailed;
                end(step, StepEnd::kFailed, "prepare: " + message);
            }
            return;
        case TaskKind::kHelper:
            step.helper = part;
            step.helper_message = message;
            break;
        case TaskKind::kBuild:
            ++step.builds_ended;
            if (ok) {
                ++step.builds_ok;
            } else if (step.build_message.empty()) {
                step.build_message = message;
            }
            break;
        case TaskKind::kFinish:
            step.finish = part;
            if (!ok) {
                end(step, StepEnd::kFailed, "finish: " + message);
                return;
            }
            for (const StepId waiter : step.waiting_prepares) try_prepare(steps_.at(waiter));
            break;
        case TaskKind::kMeasure:
            ++step.measures_ended;
            if (!ok && step.measure_message.empty()) step.measure_message = message;
            break;
        case TaskKind::kConclude:
            step.conclude = part;
            end(step, ok ? (step.spec.measured ? StepEnd::kMeasured : StepEnd::kBuilt) : StepEnd::kFailed,
                ok ? "" : "conclude: " + message);
            return;
        case TaskKind::kSplit:
        case TaskKind::kNoop: return;
    }
    try_finish(step);
    try_measure(step);
    try_conclude(step);
}

void Graph::try_finish(Step& step) {
    if (step.ended || step.finish != Part::kWaiting || step.builds_ended < step.kernels) return;
    if (step.builds_ok == 0) {
        end(step, StepEnd::kFailed, "no kernel could be built; the first failure: " + step.build_message);
        return;
    }
    step.finish = Part::kReady;
    ready(step, TaskKind::kFinish, 0);
}

void Graph::try_measure(Step& step) {
    const bool helper_ok = step.helper == Part::kNone || step.helper == Part::kOk;
    if (step.ended || !step.spec.measured || step.measuring || step.finish != Part::kOk || !helper_ok) return;
    step.measuring = true;
    change(step, "measuring");
    for (std::int32_t i = 0; i < step.problems; ++i) ready(step, TaskKind::kMeasure, i);
}

void Graph::try_conclude(Step& step) {
    if (step.ended || step.conclude != Part::kWaiting || step.finish != Part::kOk) return;
    if (step.helper == Part::kReady) return;
    if (step.helper == Part::kFailed) {
        end(step, StepEnd::kFailed, "helper: " + step.helper_message);
        return;
    }
    if (step.spec.measured && (!step.measuring || step.measures_ended < step.problems)) return;
    if (step.measures_ended > 0 && !step.measure_message.empty()) {
        end(step, StepEnd::kFailed, "measure: " + step.measure_message);
        return;
    }
    if (step.spec.conclude_after.valid() && !steps_.at(step.spec.conclude_after).ended) return;
    step.conclude = Part::kReady;
    ready(step, TaskKind::kConclude, 0);
    change(step, "concluding");
}

void Graph::end(Step& step, StepEnd how, const std::string& message) {
    if (step.ended) return;
    if (campaigns_.at(step.campaign).cancelled && how == StepEnd::kFailed) how = StepEnd::kCancelled;
    step.ended = true;
    step.ended_well = how == StepEnd::kMeasured || how == StepEnd::kSimulated || how == StepEnd::kBuilt;
    admitted(step);
    Campaign& campaign = campaigns_.at(step.campaign);
    --campaign.steps_open;
    if (!step.ended_well) campaign.failed_step = true;
    changes_.push_back(StepChange{step.spec.id, "ended", how, message});
    for (const StepId waiter : step.waiting_prepares) try_prepare(steps_.at(waiter));
    for (const StepId waiter : step.waiting_concludes) {
        Step& waiting = steps_.at(waiter);
        // What the two share is the published files of one name: those of a failed step are not there to build upon.
        if (!step.ended_well && !waiting.ended) {
            end(waiting, StepEnd::kFailed, "the step whose group name it shares failed: " + message);
        } else {
            try_conclude(waiting);
        }
    }
}

void Graph::remove(CampaignId id) {
    std::erase_if(ready_, [&](const ReadyTask& task) { return task.campaign == id; });
    std::erase_if(steps_, [&](const auto& entry) { return entry.second.campaign == id; });
    std::erase_if(configs_, [&](const auto& entry) { return entry.second == id; });
    building_.erase(id);
    campaigns_.erase(id);
}

void Graph::cancel(CampaignId id) {
    Campaign& campaign = campaigns_.at(id);
    campaign.cancelled = true;
    std::erase_if(ready_, [&](const ReadyTask& task) { return task.campaign == id; });
    for (auto& [step_id, step] : steps_) {
        if (step.campaign == id) end(step, StepEnd::kCancelled, "cancelled");
    }
}

std::vector<ReadyTask> Graph::take_ready() {
    return std::exchange(ready_, {});
}
std::vector<StepChange> Graph::take_changes() {
    return std::exchange(changes_, {});
}

std::vector<CampaignId> Graph::building() const {
    std::vector<CampaignId> out;
    for (const auto& [campaign, steps] : building_) out.push_back(campaign);
    return out;
}

void Graph::admitted(const Step& step) {
    const auto it = building_.find(step.campaign);
    if (it == building_.end()) return;
    it->second.erase({step.rank, step.spec.id});
    if (it->second.empty()) building_.erase(it);
}

std::vector<ReadyTask> Graph::admit_builds(CampaignId campaign, std::size_t most) {
    std::vector<ReadyTask> out;
    while (out.size() < most && building_.contains(campaign)) {
        Step& step = steps_.at(building_.at(campaign).begin()->second);
        while (out.size() < most && !step.build_order.empty()) {
            out.push_back(
                ReadyTask{step.campaign, step.config, step.spec.id, TaskKind::kBuild, step.build_order.back()});
            step.build_order.pop_back();
        }
        if (step.build_order.empty()) {
            step.build_order.shrink_to_fit();
            admitted(step);
        }
    }
    return out;
}

double Graph::rank(StepId step) const {
    const auto it = steps_.find(step);
    return it == steps_.end() ? 0 : it->second.rank;
}

CampaignState Graph::state(CampaignId id) const {
    const Campaign& campaign = campaigns_.at(id);
    if (campaign.cancelled) return CampaignState::kCancelled;
    if (campaign.splits_open > 0) return CampaignState::kSplitting;
    if (campaign.rejected) return CampaignState::kRejected;
    if (campaign.steps_open > 0) return CampaignState::kRunning;
    return campaign.failed_step ? CampaignState::kFailed : CampaignState::kDone;
}

std::array<std::int64_t, kTaskKinds> Graph::open_tasks(CampaignId id) const {
    std::array<std::int64_t, kTaskKinds> open{};
    const auto add = [&](TaskKind kind, std::int64_t count) { open[static_cast<std::size_t>(kind)] += count; };
    add(TaskKind::kSplit, campaigns_.at(id).splits_open);
    for (const auto& [step_id, step] : steps_) {
        if (step.campaign != id || step.ended) continue;
        if (step.prepare == Part::kWaiting || step.prepare == Part::kReady) add(TaskKind::kPrepare, 1);
        if (step.helper == Part::kReady) add(TaskKind::kHelper, 1);
        add(TaskKind::kBuild, step.kernels - step.builds_ended);
        if (step.finish != Part::kOk) add(TaskKind::kFinish, 1);
        if (step.spec.measured) add(TaskKind::kMeasure, step.problems - step.measures_ended);
        add(TaskKind::kConclude, 1);
    }
    return open;
}

std::string Graph::measure_waits_for(const Step& step) const {
    if (step.finish != Part::kOk) return "waits for its step's finish";
    return step.helper == Part::kReady ? "waits for its step's helper" : "";
}

std::string Graph::conclude_waits_for(const Step& step) const {
    if (step.finish != Part::kOk) return "waits for its step's finish";
    if (step.helper == Part::kReady) return "waits for its step's helper";
    if (step.spec.measured && (!step.measuring || step.measures_ended < step.problems)) {
        return "waits for " + std::to_string(step.problems - step.measures_ended) + " of its step's " +
               std::to_string(step.problems) + " measurements";
    }
    return "gate: waits for conclude of step " + std::to_string(step.spec.conclude_after.value()) +
           " (same group name)";
}

std::vector<Graph::Wait> Graph::waits(StepId id) const {
    std::vector<Wait> out;
    const auto found = steps_.find(id);
    if (found == steps_.end() || found->second.ended) return out;
    const Step& step = found->second;
    if (step.prepare == Part::kWaiting) {
        const bool gate = step.spec.prepare_after.valid() && campaigns_.at(step.campaign).held.empty();
        out.push_back({TaskKind::kPrepare, 1,
                       gate ? "gate: waits for finish of step " + std::to_string(step.spec.prepare_after.value()) +
                                  " (same cache directory)"
                            : "waits until every config of its campaign has been split"});
        return out;
    }
    if (step.prepare != Part::kOk) return out;
    const auto unadmitted = static_cast<std::int64_t>(step.build_order.size());
    if (unadmitted > 0) out.push_back({TaskKind::kBuild, unadmitted, "waits for earlier builds of its campaign"});
    if (step.finish == Part::kWaiting) {
        out.push_back({TaskKind::kFinish, 1,
                       "waits for " + std::to_string(step.kernels - step.builds_ended) + " of its step's " +
                           std::to_string(step.kernels) + " builds"});
    }
    if (step.spec.measured && !step.measuring) {
        out.push_back({TaskKind::kMeasure, step.problems, measure_waits_for(step)});
    }
    if (step.conclude == Part::kWaiting) out.push_back({TaskKind::kConclude, 1, conclude_waits_for(step)});
    return out;
}

void Graph::ready(const Step& step, TaskKind kind, std::int32_t index) {
    ready_.push_back(ReadyTask{step.campaign, step.config, step.spec.id, kind, index});
}

void Graph::change(const Step& step, const char* state) {
    changes_.push_back(StepChange{step.spec.id, state, StepEnd::kNone, ""});
}

}  // namespace tunefarm::schedule
