// SPDX-License-Identifier: MIT
#include "coordinator/server/campaigns.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "coordinator/plan/gates.h"
#include "coordinator/plan/normalised.h"

namespace tunefarm::server {
namespace {

using nlohmann::json;
using schedule::ReadyTask;
using storage::Record;

// Until a step is prepared its size is guessed from its permutations; larger steps are taken to be pruned.
constexpr double kGuessedKernelSeconds = 0.3;
constexpr double kGuessedKernels = 2000;
constexpr double kGuessedProblemSeconds = 10;

std::int64_t size_of(const std::string& text) {
    return static_cast<std::int64_t>(text.size());
}

/// Finish and conclude name their outputs freely, and the names become files of bundles and result folders; a name
/// comes from a driver and through any worker. Empty: all are fine.
std::string refused_name(const ReadyTask& task, const ActionEnd& end) {
    if (!end.ok || (task.kind != TaskKind::kFinish && task.kind != TaskKind::kConclude)) return "";
    for (const protocol::Output& output : end.outputs) {
        if (!is_plain_file_name(output.name)) {
            return fmt::format("the driver named an output {}, which is no plain file name", json(output.name).dump());
        }
        if (task.kind == TaskKind::kFinish && output.name == "helper") {
            return "the driver named an output \"helper\", which is reserved for the helper's object";
        }
    }
    return "";
}

/// What a toolchain said about its input, with the place in the file where it named one.
std::string refusal_of(const plan::Config& config, const ActionEnd& end) {
    const json detail = json::parse(end.result, nullptr, false);
    const auto text = [&detail](const char* key) {
        return detail.is_object() && detail.contains(key) && detail[key].is_string() ? detail[key].get<std::string>()
                                                                                     : std::string();
    };
    return plan::refusal_text(config, text("path"), end.message, text("allowed"));
}

}  // namespace

Digest campaign_key(const CampaignRequest& request) {
    Hasher hasher;
    hasher.add_field("tunefarm campaign 1");
    hasher.add_field(request.build_only ? "build-only" : "measure");
    for (const CampaignConfig& config : request.configs) {
        hasher.add_field(config.config.path).add_field(config.config.toolchain).add_field(config.normalised);
    }
    hasher.add_field("targets");
    for (const std::string& target : request.targets) hasher.add_field(target);
    hasher.add_field("toolchains");
    for (const Digest& fingerprint : request.toolchains) hasher.add_field(fingerprint.hex());
    return hasher.finish();
}

Status Campaigns::add(CampaignId id, const CampaignRequest& request, const storage::OpenCampaign* resume, Instant now,
                      std::vector<Record>& out) {
    Campaign campaign;
    if (resume != nullptr) campaign.record = resume->record;
    campaign.record.id = id;
    campaign.record.name = request.name;
    campaign.record.state = "running";
    campaign.record.key = campaign_key(request);
    campaign.record.options = json{
        {"targets", request.targets},
        {"measured_targets", request.measured_targets},
        {"build_only", request.build_only},
        {"priority",
         request.priority}}.dump();
    if (resume == nullptr) campaign.record.created = now;
    campaign.targets = request.targets;
    campaign.measured_targets = request.build_only ? std::vector<std::string>{} : request.measured_targets;
    campaign.build_only = request.build_only;
    campaign.priority = request.priority;
    if (resume != nullptr) {
        for (const storage::StepRecord& step : resume->steps) {
            campaign.old_steps[{step.config.value(), step.target, step.index}] = step;
        }
        for (const storage::TaskRecord& task : resume->tasks) {
            campaign.old_tasks[{task.step, task.kind, task.index}] = task;
        }
    }
    out.emplace_back(campaign.record);
    graph_.add_campaign(id, static_cast<std::int32_t>(request.configs.size()));
    for (std::size_t i = 0; i < request.configs.size(); ++i) {
        const CampaignConfig& from = request.configs[i];
        // Kept until the campaign ends: a coordinator goes on with it without the file.
        TUNEFARM_ASSIGN(const Digest content, artifacts_.put(from.bytes));
        TUNEFARM_ASSIGN(const Digest normalised, artifacts_.put(from.normalised));
        Config config;
        config.campaign = id;
        config.record.id =
            resume != nullptr && i < resume->configs.size() ? resume->configs[i].id : ids_.take(ids_.last.config);
        config.record.campaign = id;
        config.record.path = from.config.path;
        config.record.toolchain = from.config.toolchain;
        config.record.content = content;
        config.record.normalised = normalised;
        config.config = std::make_shared<const plan::Config>(from.config);
        config.normalised_size = size_of(from.normalised);
        config.split_task = ids_.take(ids_.last.task);
        if (resume != nullptr) {
            for (const storage::TaskRecord& task : resume->tasks) {
                // Splits have no step; they come in the order of the configs.
                if (task.kind == TaskKind::kSplit && task.index == static_cast<std::int32_t>(i)) {
                    config.split_task = task.id;
                }
            }
        }
        campaign.configs.push_back(config.record.id);
        out.emplace_back(config.record);
        graph_.add_config(id, config.record.id);
        configs_.insert_or_assign(config.record.id, std::move(config));
    }
    campaigns_.insert_or_assign(id, std::move(campaign));
    return {};
}

TaskId Campaigns::task_id(const ReadyTask& task) const {
    if (task.kind == TaskKind::kSplit) return configs_.at(task.config).split_task;
    const Step& step = steps_.at(task.step);
    const auto inner = [&](std::int64_t offset) { return TaskId(step.first_inner.value() + offset); };
    switch (task.kind) {
        case TaskKind::kPrepare: return step.first_task;
        case TaskKind::kFinish: return TaskId(step.first_task.value() + 1);
        case TaskKind::kConclude: return TaskId(step.first_task.value() + 2);
        case TaskKind::kHelper: return inner(0);
        case TaskKind::kBuild: return inner(1 + task.index);
        case TaskKind::kMeasure: return inner(1 + step.kernel_count + task.index);
        case TaskKind::kSplit:
        case TaskKind::kNoop: break;
    }
    return TaskId{};
}

void Campaigns::remove(CampaignId id) {
    std::erase_if(steps_, [&](const auto& entry) { return entry.second.record.campaign == id; });
    std::erase_if(configs_, [&](const auto& entry) { return entry.second.campaign == id; });
    campaigns_.erase(id);
}

std::vector<CampaignId> Campaigns::running() const {
    std::vector<CampaignId> out;
    for (const auto& [id, campaign] : campaigns_) {
        if (!campaign.over) out.push_back(id);
    }
    return out;
}

const storage::CampaignRecord* Campaigns::record(CampaignId id) const {
    const auto it = campaigns_.find(id);
    return it == campaigns_.end() ? nullptr : &it->second.record;
}

Campaigns::Place Campaigns::place(ConfigId config, StepId step) const {
    if (!step.valid()) return {configs_.at(config).record.path, -1, ""};
    const storage::StepRecord& record = steps_.at(step).record;
    return {configs_.at(record.config).record.path, record.index, record.target};
}

std::vector<StepId> Campaigns::open_steps(CampaignId campaign) const {
    std::vector<StepId> out;
    for (const auto& [id, step] : steps_) {
        if (step.record.campaign == campaign && step.record.state != "ended") out.push_back(id);
    }
    return out;
}

std::pair<std::string, std::string> Campaigns::requirement(const ReadyTask& task) const {
    const std::string& toolchain = configs_.at(task.config).record.toolchain;
    return {toolchain, task.step.valid() ? steps_.at(task.step).record.target : "*"};
}

storage::TaskRecord Campaigns::task_record(const ReadyTask& task) const {
    storage::TaskRecord record;
    record.id = task_id(task);
    record.step = task.step;
    record.campaign = task.campaign;
    record.kind = task.kind;
    record.index = task.index;
    if (task.kind == TaskKind::kSplit) {
        const auto& configs = campaigns_.at(task.campaign).configs;
        record.index =
            static_cast<std::int32_t>(std::find(configs.begin(), configs.end(), task.config) - configs.begin());
    }
    return record;
}

bool Campaigns::executed_before(const ReadyTask& task) const {
    const storage::TaskRecord now = task_record(task);
    const storage::TaskRecord* old = old_task(task.campaign, task.step, task.kind, now.index);
    return old != nullptr && old->state == "done" && !old->cached;
}

const storage::TaskRecord* Campaigns::old_task(CampaignId id, StepId step, TaskKind kind, std::int32_t index) const {
    const Campaign& campaign = campaigns_.at(id);
    const auto it = campaign.old_tasks.find({step, kind, index});
    return it == campaign.old_tasks.end() ? nullptr : &it->second;
}

void Campaigns::write_tasks(const Step& step, TaskKind kind, std::int32_t count, std::vector<Record>& out) const {
    for (std::int32_t i = 0; i < count; ++i) {
        const storage::TaskRecord* old = old_task(step.record.campaign, step.record.id, kind, i);
        if (old != nullptr && old->state == "done") continue;
        storage::TaskRecord record =
            task_record(ReadyTask{step.record.campaign, step.record.config, step.record.id, kind, i});
        record.state = "waiting";
        out.emplace_back(std::move(record));
    }
}

void Campaigns::ended(const ReadyTask& task, const ActionEnd& end, std::vector<Record>& out) {
    if (task.kind == TaskKind::kSplit) {
        split_ended(configs_.at(task.config), end, out);
        return;
    }
    Step& step = steps_.at(task.step);
    // A step that has failed or was cancelled wants nothing more from what was still running.
    if (step.record.state == "ended") return;
    if (const std::string refused = refused_name(task, end); !refused.empty()) {
        graph_.task_ended(task.step, task.kind, false, refused);
        return;
    }
    switch (task.kind) {
        case TaskKind::kPrepare: prepare_ended(step, end, out); return;
        case TaskKind::kHelper:
            if (end.ok && !end.outputs.empty()) step.helper_object = end.outputs.front();
            break;
        case TaskKind::kBuild:
            if (end.ok && !end.outputs.empty())
                step.kernels[static_cast<std::size_t>(task.index)] = end.outputs.front();
            break;
        case TaskKind::kFinish: step.bundle = end.outputs; break;
        case TaskKind::kConclude: conclude_ended(step, end, out); break;
        case TaskKind::kSplit:
        case TaskKind::kMeasure:
        case TaskKind::kNoop: break;
    }
    std::string message = end.message;
    if (!end.ok && !end.log.empty() && message.find(end.log) == std::string::npos) message += "\n" + end.log;
    graph_.task_ended(task.step, task.kind, end.ok, message);
}

void Campaigns::split_ended(Config& config, const ActionEnd& end, std::vector<Record>& out) {
    Campaign& campaign = campaigns_.at(config.campaign);
    std::string wrong;
    std::vector<plan::Unit> units;
    if (end.ok) {
        auto parsed = plan::parse_units(end.result);
        if (parsed.ok()) {
            units = std::move(parsed).value();
        } else {
            campaign.failures.push_back(fmt::format("{}: the driver of toolchain {} is broken: {}", config.record.path,
                                                    config.record.toolchain, parsed.error().message));
            graph_.split_failed(config.record.id, parsed.error().message);
            return;
        }
    } else {
        wrong = refusal_of(*config.config, end);
    }
    for (const plan::Unit& unit : units) {
        if (!wrong.empty()) break;
        if (!unit.result_driven && unit.fork_permutations > plan::kMaxExhaustive) {
            const std::string path =
                fmt::format("BenchmarkProblems[{}][{}].ForkParameters", unit.entry, unit.group + 1);
            wrong = plan::refusal_text(*config.config, path,
                                       fmt::format("{} permutations; an exhaustive step may have {}: fork fewer "
                                                   "values, or split the group",
                                                   unit.fork_permutations, plan::kMaxExhaustive),
                                       "");
        }
        if (unit.result_driven) {
            wrong = config.record.path + ": step " + std::to_string(unit.index) + " (" + unit.problem +
                    "): its Backend reads each evaluation's results; such searches cannot be run yet. Remove "
                    "`Backend` to measure all permutations";
        }
    }
    if (!end.ok && !end.by_input) {
        // The toolchain failed, not the config.
        campaign.failures.push_back(config.record.path + ": split: " + end.message +
                                    (end.log.empty() ? "" : "\n" + end.log));
        graph_.split_failed(config.record.id, end.message);
        return;
    }
    if (!wrong.empty()) {
        campaign.input_errors.push_back(wrong);
        graph_.split_failed(config.record.id, wrong);
        return;
    }
    add_steps(config, units, out);
}

void Campaigns::add_steps(Config& config, const std::vector<plan::Unit>& units, std::vector<Record>& out) {
    Campaign& campaign = campaigns_.at(config.campaign);
    const auto gates = plan::gates_of(units);
    std::vector<schedule::NewStep> steps;
    for (const std::string& target : campaign.targets) {
        const bool measured =
            std::count(campaign.measured_targets.begin(), campaign.measured_targets.end(), target) > 0;
        const std::size_t first = steps.size();
        for (const plan::Unit& unit : units) {
            Step step;
            step.unit = unit.index;
            step.measured = measured;
            storage::StepRecord& record = step.record;
            record.index = static_cast<std::int32_t>(unit.index);
            const auto old = campaign.old_steps.find({config.record.id.value(), target, record.index});
            record.id = old != campaign.old_steps.end() ? old->second.id : ids_.take(ids_.last.step);
            record.campaign = config.campaign;
            record.config = config.record.id;
            record.target = target;
            record.problem = unit.problem;
            record.group_name = unit.group_name.value_or("");
            record.cache_key = unit.cache_key.value_or("");
            record.fork_permutations = static_cast<std::int64_t>(unit.fork_permutations);
            record.size_entries = static_cast<std::int64_t>(unit.size_entries);
            record.state = "waiting";
            const auto old_prepare = campaign.old_tasks.find({record.id, TaskKind::kPrepare, 0});
            step.first_task =
                old_prepare != campaign.old_tasks.end() ? old_prepare->second.id : ids_.take(ids_.last.task, 3);
            const double kernels = std::min(kGuessedKernels, static_cast<double>(unit.fork_permutations));
            schedule::NewStep planned;
            planned.id = record.id;
            planned.measured = measured;
            planned.cpu_seconds = kernels * kGuessedKernelSeconds;
            planned.device_seconds =
                measured ? kGuessedProblemSeconds * static_cast<double>(unit.problem_sizes.size()) : 0;
            steps.push_back(planned);
            out.emplace_back(record);
            const auto it = steps_.insert_or_assign(record.id, std::move(step)).first;
            for (const TaskKind kind : {TaskKind::kPrepare, TaskKind::kFinish, TaskKind::kConclude}) {
                write_tasks(it->second, kind, 1, out);
            }
        }
        for (const plan::Gate& gate : gates.value_or(std::vector<plan::Gate>{})) {
            schedule::NewStep& waiter = steps[first + gate.waiter];
            const StepId holder = steps[first + gate.holder].id;
            (gate.waiting_task == TaskKind::kPrepare ? waiter.prepare_after : waiter.conclude_after) = holder;
            out.emplace_back(
                storage::GateRecord{waiter.id, holder, to_string(gate.reason), gate.waiting_task, gate.held_task});
        }
    }
    graph_.split_done(config.record.id, steps);
}

void Campaigns::prepare_ended(Step& step, const ActionEnd& end, std::vector<Record>& out) {
    Status accepted = end.ok
                          ? accept_document(step, end, out)
                          : Status(Error{ErrorKind::kInput, refusal_of(*configs_.at(step.record.config).config, end)});
    if (!accepted.ok()) {
        graph_.task_ended(step.record.id, TaskKind::kPrepare, false, accepted.error().message);
        return;
    }
    schedule::PreparedStep prepared;
    for (const StepDocument::Kernel& kernel : step.document->kernels) prepared.kernel_costs.push_back(kernel.cost);
    prepared.helper = step.helper_source.has_value();
    prepared.problems = static_cast<std::int32_t>(step.document->problems.size());
    graph_.prepared(step.record.id, std::move(prepared));
}

Status Campaigns::accept_document(Step& step, const ActionEnd& end, std::vector<Record>& out) {
    const protocol::Output* document = nullptr;
    for (const protocol::Output& output : end.outputs) {
        if (output.name == "step") document = &output;
        if (output.name == "helper") step.helper_source = output;
    }
    if (document == nullptr) return Error{ErrorKind::kCorruption, "prepare wrote no step document"};
    TUNEFARM_ASSIGN(const std::string text, artifacts_.get(document->digest));
    TUNEFARM_ASSIGN(StepDocument parsed, parse_step_document(text));
    step.record.document = document->digest;
    step.document_size = size_of(text);
    step.kernels.resize(parsed.kernels.size());
    step.kernel_count = static_cast<std::int32_t>(parsed.kernels.size());
    step.document = std::make_unique<StepDocument>(std::move(parsed));
    const StepDocument& doc = *step.document;
    const auto kernels = static_cast<std::int32_t>(doc.kernels.size());
    const auto problems = static_cast<std::int32_t>(doc.problems.size());
    const StepId id = step.record.id;
    const storage::TaskRecord* old = old_task(step.record.campaign, id, TaskKind::kBuild, 0);
    step.first_inner =
        old != nullptr ? TaskId(old->id.value() - 1) : ids_.take(ids_.last.task, std::int64_t{1} + kernels + problems);
    out.reserve(out.size() + 2 + 2 * doc.kernels.size() + doc.solutions.size() + 2 * doc.problems.size());
    out.emplace_back(step.record);
    for (std::int32_t i = 0; i < kernels; ++i) {
        out.emplace_back(storage::KernelRecord{id, i, doc.kernels[static_cast<std::size_t>(i)].name});
    }
    for (std::size_t i = 0; i < doc.solutions.size(); ++i) {
        const StepDocument::Solution& solution = doc.solutions[i];
        out.emplace_back(storage::SolutionRecord{id, static_cast<std::int32_t>(i), solution.name, solution.kernel,
                                                 solution.parameters});
    }
    for (std::int32_t i = 0; i < problems; ++i) {
        const StepDocument::Problem& problem = doc.problems[static_cast<std::size_t>(i)];
        out.emplace_back(storage::ProblemRecord{id, i, problem.name, problem.sizes, problem.flop});
    }
    if (step.helper_source) write_tasks(step, TaskKind::kHelper, 1, out);
    write_tasks(step, TaskKind::kBuild, kernels, out);
    if (step.measured) write_tasks(step, TaskKind::kMeasure, problems, out);
    return {};
}

void Campaigns::conclude_ended(Step& step, const ActionEnd& end, std::vector<Record>& out) {
    for (const protocol::Output& output : end.outputs) {
        out.emplace_back(storage::StepFileRecord{step.record.id, output.name, output.digest,
                                                 static_cast<std::int64_t>(output.size)});
    }
    bool any_simulated = false;
    for (const auto& [index, state] : step.problems) any_simulated = any_simulated || state->simulated();
    if (any_simulated) step.record.end = StepEnd::kSimulated;
}

void Campaigns::flush_changes(Instant now, std::vector<Record>& out) {
    std::vector<CampaignId> touched;
    for (const schedule::StepChange& change : graph_.take_changes()) {
        Step& step = steps_.at(change.step);
        step.record.state = change.state;
        const bool simulated = step.record.end == StepEnd::kSimulated && change.end == StepEnd::kMeasured;
        if (!simulated) step.record.end = change.end;
        step.record.message = change.message;
        out.emplace_back(step.record);
        if (change.end == StepEnd::kNone) continue;
        if (change.end == StepEnd::kFailed) {
            campaigns_.at(step.record.campaign)
                .failures.push_back(configs_.at(step.record.config).record.path + " step " +
                                    std::to_string(step.record.index) + " (" + step.record.target +
                                    "): " + change.message);
        }
        step.document.reset();
        step.problems.clear();
        step.kernels.clear();
    }
    for (auto& [id, campaign] : campaigns_) {
        if (campaign.over) continue;
        std::string state;
        switch (graph_.state(id)) {
            case schedule::CampaignState::kSplitting:
            case schedule::CampaignState::kRunning: continue;
            case schedule::CampaignState::kRejected: state = "rejected"; break;
            case schedule::CampaignState::kDone: state = "done"; break;
            case schedule::CampaignState::kFailed: state = "failed"; break;
            case schedule::CampaignState::kCancelled: state = "cancelled"; break;
        }
        campaign.over = true;
        campaign.record.state = state;
        campaign.record.ended = now;
        end_old_steps(campaign, out);
        out.emplace_back(campaign.record);
        ended_.push_back(id);
    }
}

void Campaigns::end_old_steps(const Campaign& campaign, std::vector<Record>& out) const {
    for (const auto& [key, old] : campaign.old_steps) {
        if (steps_.contains(old.id) || old.state == "ended") continue;
        storage::StepRecord record = old;
        record.state = "ended";
        record.end = StepEnd::kCancelled;
        record.message = "the campaign ended as " + campaign.record.state;
        out.emplace_back(std::move(record));
    }
}

void Campaigns::note_lower_bound(CampaignId id, double seconds, std::vector<Record>& out) {
    storage::CampaignRecord& record = campaigns_.at(id).record;
    if (seconds <= 0 || seconds == record.lower_bound_s) return;
    record.lower_bound_s = seconds;
    out.emplace_back(record);
}

void Campaigns::interrupt(CampaignId id, std::vector<Record>& out) {
    Campaign& campaign = campaigns_.at(id);
    if (campaign.over) return;
    campaign.record.state = "interrupted";
    out.emplace_back(campaign.record);
}

MeasuredProblemState& Campaigns::problem_state(Step& step, std::int32_t problem) {
    auto& state = step.problems[problem];
    if (!state) state = std::make_unique<MeasuredProblemState>(step.record.id, problem, *step.document);
    return *state;
}

void Campaigns::begin_measure(StepId id, std::int32_t problem, std::uint32_t attempt, const std::string& device,
                              bool simulated) {
    Step& step = steps_.at(id);
    if (step.document) problem_state(step, problem).begin_attempt(attempt, device, simulated);
}

Status Campaigns::measure_row(StepId id, std::int32_t problem, const std::string& row, std::vector<Record>& out) {
    Step& step = steps_.at(id);
    if (!step.document) return {};
    return problem_state(step, problem).row(row, out);
}

}  // namespace tunefarm::server
