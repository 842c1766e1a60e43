// SPDX-License-Identifier: MIT
// Campaigns: the action that each kind of task asks for.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "coordinator/server/campaigns.h"

namespace tunefarm::server {

using nlohmann::json;
using schedule::ReadyTask;
using storage::Record;

Result<std::optional<ActionDraft>> Campaigns::draft(const ReadyTask& task, std::vector<Record>& out) {
    const Config& config = configs_.at(task.config);
    const protocol::Input config_input{"config", "", config.record.normalised,
                                       static_cast<std::uint64_t>(config.normalised_size)};
    ActionDraft draft;
    draft.kind = task.kind;
    draft.toolchain = config.record.toolchain;
    draft.args = "{}";
    if (task.kind == TaskKind::kSplit) {
        draft.target = "*";
        draft.inputs.push_back(config_input);
        draft.description = config.record.path;
        return std::optional(std::move(draft));
    }
    Step& step = steps_.at(task.step);
    const std::string where = config.record.path + " step " + std::to_string(step.record.index);
    draft.target = step.record.target;
    draft.description = where;
    switch (task.kind) {
        case TaskKind::kPrepare:
            draft.inputs.push_back(config_input);
            draft.args = json{{"unit", step.unit}}.dump();
            draft.cost = std::max(1.0, static_cast<double>(step.record.fork_permutations) / 100.0);
            break;
        case TaskKind::kHelper:
            draft.inputs.push_back(protocol::Input{"source", "", step.helper_source->digest, step.helper_source->size});
            draft.description = "helper of " + where;
            break;
        case TaskKind::kBuild: {
            const StepDocument::Kernel& kernel = step.document->kernels[static_cast<std::size_t>(task.index)];
            draft.args = R"({"args":)" + kernel.args + R"(,"name":")" + kernel.name + "\"}";
            draft.description = kernel.name;
            draft.cost = kernel.cost;
            break;
        }
        case TaskKind::kFinish: return std::optional(draft_finish(step));
        case TaskKind::kConclude: {
            TUNEFARM_ASSIGN(ActionDraft conclude, draft_conclude(step, out));
            return std::optional(std::move(conclude));
        }
        case TaskKind::kMeasure: {
            const storage::TaskRecord* old = old_task(task.campaign, task.step, TaskKind::kMeasure, task.index);
            if (old != nullptr && old->state == "done") {
                TUNEFARM_ASSIGN(const storage::MeasuredProblem measured, memory_.measured(task.step, task.index));
                problem_state(step, task.index).restore(measured);
                graph_.task_ended(task.step, task.kind, true, "");
                return std::optional<ActionDraft>();
            }
            return std::optional(draft_measure(step, task.index));
        }
        case TaskKind::kSplit:
        case TaskKind::kNoop: break;
    }
    return std::optional(std::move(draft));
}

ActionDraft Campaigns::draft_finish(const Step& step) const {
    ActionDraft draft;
    draft.kind = TaskKind::kFinish;
    draft.toolchain = configs_.at(step.record.config).record.toolchain;
    draft.target = step.record.target;
    draft.args = "{}";
    draft.description = configs_.at(step.record.config).record.path + " step " + std::to_string(step.record.index);
    draft.inputs.push_back(
        protocol::Input{"step", "", step.record.document, static_cast<std::uint64_t>(step.document_size)});
    for (std::size_t i = 0; i < step.kernels.size(); ++i) {
        const protocol::Output& object = step.kernels[i];
        if (object.digest.is_zero()) continue;
        draft.inputs.push_back(protocol::Input{"kernels", step.document->kernels[i].name, object.digest, object.size});
    }
    draft.cost = std::max(1.0, static_cast<double>(step.kernels.size()) / 20.0);
    return draft;
}

ActionDraft Campaigns::draft_measure(Step& step, std::int32_t index) const {
    const StepDocument::Problem& problem = step.document->problems[static_cast<std::size_t>(index)];
    json solutions = json::array();
    for (const StepDocument::Solution& solution : step.document->solutions) {
        if (!step.kernels[static_cast<std::size_t>(solution.kernel)].digest.is_zero()) {
            solutions.push_back(solution.name);
        }
    }
    ActionDraft draft;
    draft.kind = TaskKind::kMeasure;
    draft.toolchain = configs_.at(step.record.config).record.toolchain;
    draft.target = step.record.target;
    draft.cacheable = false;
    draft.description = configs_.at(step.record.config).record.path + " step " + std::to_string(step.record.index) +
                        " problem " + problem.name;
    draft.args = json{{"problem", json::parse(problem.json)},
                      {"problem_name", problem.name},
                      {"flop", problem.flop},
                      {"solutions", std::move(solutions)},
                      {"seed", step.record.id.value() * 1000 + index}}
                     .dump();
    for (const protocol::Output& member : step.bundle) {
        draft.inputs.push_back(protocol::Input{member.name, "", member.digest, member.size});
    }
    if (step.helper_object) {
        draft.inputs.push_back(protocol::Input{"helper", "", step.helper_object->digest, step.helper_object->size});
    }
    return draft;
}

Result<ActionDraft> Campaigns::draft_conclude(Step& step, std::vector<Record>& out) {
    ActionDraft draft;
    draft.kind = TaskKind::kConclude;
    draft.toolchain = configs_.at(step.record.config).record.toolchain;
    draft.target = step.record.target;
    draft.description = configs_.at(step.record.config).record.path + " step " + std::to_string(step.record.index);
    draft.args =
        json{{"unit", step.unit}, {"group_name", step.record.group_name}, {"end", step.measured ? "measured" : "built"}}
            .dump();
    draft.inputs.push_back(
        protocol::Input{"step", "", step.record.document, static_cast<std::uint64_t>(step.document_size)});
    if (!step.measured) return draft;
    std::int32_t measured = 0;
    for (const auto& [index, state] : step.problems) measured += state->measured();
    if (measured == 0 && !step.problems.empty()) {
        return Error{ErrorKind::kInput,
                     "no solution could be measured: each failed on every problem (tunefarm results --all)"};
    }
    json results = json::array();
    for (auto& [index, state] : step.problems) {
        const Decision decision = state->decide();
        for (storage::ResultRecord& record :
             state->results(decision, step.document->problems[static_cast<std::size_t>(index)].flop)) {
            out.emplace_back(std::move(record));
        }
        for (json& row : json::parse(state->results_json(decision, *step.document))) results.push_back(std::move(row));
    }
    const std::string text = json{{"version", 1}, {"results", std::move(results)}}.dump();
    TUNEFARM_ASSIGN(const Digest digest, artifacts_.put(text));
    draft.inputs.push_back(protocol::Input{"results", "", digest, static_cast<std::uint64_t>(text.size())});
    return draft;
}

}  // namespace tunefarm::server
