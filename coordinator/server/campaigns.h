// SPDX-License-Identifier: MIT
// Campaigns, configs and steps as the coordinator knows them: turns tasks that the graph calls ready into action
// drafts, and ended actions into the next events of the graph and records of the database. No sockets, no clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "coordinator/plan/config.h"
#include "coordinator/plan/units.h"
#include "coordinator/schedule/graph.h"
#include "coordinator/server/action_draft.h"
#include "coordinator/server/measured.h"
#include "coordinator/server/seams.h"
#include "coordinator/server/step_document.h"

namespace tunefarm::server {

struct CampaignConfig {
    plan::Config config;
    std::string normalised;  ///< plan::normalised_json
    std::string bytes;       ///< of the file
};

struct CampaignRequest {
    std::string name;
    std::vector<CampaignConfig> configs;
    std::vector<std::string> targets;           ///< canonical names
    std::vector<std::string> measured_targets;  ///< those of them that have a device; the others are built only
    bool build_only = false;
    std::int32_t priority = 0;  ///< of the user: tasks of a higher one come first (docs/scheduling.md)
    /// Fingerprints of what splits, prepares, builds and measures it: with another toolchain it is another campaign,
    /// whose steps may hold other kernels.
    std::vector<Digest> toolchains;
};

/// Configs + targets + build_only + toolchains, not name and priority: the same command again finds its unfinished
/// campaign by it.
Digest campaign_key(const CampaignRequest& request);

/// How an action ended, for the tasks that asked for it.
struct ActionEnd {
    bool ok = false;
    bool by_input = false;  ///< not ok, and the same everywhere: the input is wrong
    std::string message;
    std::string log;
    std::string result;  ///< JSON object
    std::vector<protocol::Output> outputs;
};

/// Ids that grow; set from the database at start.
struct IdSource {
    storage::LastIds last;
    template <typename T>
    T take(T& counter, std::int64_t count = 1) {
        const T first(counter.value() + 1);
        counter = T(counter.value() + count);
        return first;
    }
};

class Campaigns {
  public:
    /// All references must outlive it.
    Campaigns(schedule::Graph& graph, Artifacts& artifacts, Memory& memory, IdSource& ids)
        : graph_(graph), artifacts_(artifacts), memory_(memory), ids_(ids) {}

    /// Appends records. `resume`: the campaign was begun by an earlier process; its ids and measurements are kept.
    Status add(CampaignId id, const CampaignRequest& request, const storage::OpenCampaign* resume, Instant now,
               std::vector<storage::Record>& out);

    /// Forgets a campaign that has ended, so that it can be added again.
    void remove(CampaignId id);

    /// The action that a ready task needs, without its fingerprint. A measurement that an earlier process completed has
    /// none: it is reported to the graph here, and nullopt is returned.
    Result<std::optional<ActionDraft>> draft(const schedule::ReadyTask& task, std::vector<storage::Record>& out);

    /// The task's action (or attempt at measuring) ended for good.
    void ended(const schedule::ReadyTask& task, const ActionEnd& end, std::vector<storage::Record>& out);

    /// Its step has not ended: somebody still waits for what the task makes.
    bool wants(const schedule::ReadyTask& task) const;

    /// The tasks that made these inputs of `task`; what the coordinator itself made is in the store again on return.
    Result<std::set<schedule::ReadyTask>> makers(const schedule::ReadyTask& task, const std::vector<Digest>& lost);
    /// A task that had ended was executed again, and its outputs replace the lost ones. kCorruption: they do not fit
    /// what the step has been doing since.
    Status made_again(const schedule::ReadyTask& task, const ActionEnd& end);

    /// Writes the step changes that the graph has made since the last call.
    void flush_changes(Instant now, std::vector<storage::Record>& out);

    std::int32_t priority(CampaignId id) const { return campaigns_.at(id).priority; }
    TaskId task_id(const schedule::ReadyTask& task) const;
    /// Steps of the campaign that have not ended, in order.
    std::vector<StepId> open_steps(CampaignId campaign) const;
    /// Toolchain and target of a task.
    std::pair<std::string, std::string> requirement(const schedule::ReadyTask& task) const;
    storage::TaskRecord task_record(const schedule::ReadyTask& task) const;
    /// An earlier process of this campaign executed it.
    bool executed_before(const schedule::ReadyTask& task) const;

    // measurements
    /// At the start of each attempt at measuring.
    void begin_measure(StepId step, std::int32_t problem, std::uint32_t attempt, const std::string& device,
                       bool simulated);
    Status measure_row(StepId step, std::int32_t problem, const std::string& row, std::vector<storage::Record>& out);

    /// Those that have not ended, oldest first.
    std::vector<CampaignId> running() const;
    /// Null: not a campaign of this process.
    const storage::CampaignRecord* record(CampaignId id) const;
    /// For people: config, step and target of a task.
    struct Place {
        std::string config;
        std::int32_t step = -1;  ///< -1: a split
        std::string target;
    };
    Place place(ConfigId config, StepId step) const;

    /// Input errors found by splits, with file, line and column; a campaign that has some is rejected.
    const std::vector<std::string>& input_errors(CampaignId id) const { return campaigns_.at(id).input_errors; }
    /// Campaigns that ended since the last call.
    std::vector<CampaignId> take_ended() { return std::exchange(ended_, {}); }
    /// Messages of failed steps, "config step N (target): why".
    const std::vector<std::string>& failures(CampaignId id) const { return campaigns_.at(id).failures; }
    /// Records the bound of a campaign's makespan, if it is known and has changed.
    void note_lower_bound(CampaignId id, double seconds, std::vector<storage::Record>& out);
    /// Ends the campaign's record as "interrupted": the same command resumes it.
    void interrupt(CampaignId id, std::vector<storage::Record>& out);

  private:
    struct Campaign {
        storage::CampaignRecord record;
        std::vector<std::string> targets;
        std::vector<std::string> measured_targets;
        bool build_only = false;
        std::int32_t priority = 0;
        std::vector<ConfigId> configs;
        std::vector<std::string> input_errors;
        std::vector<std::string> failures;
        std::map<std::tuple<std::int64_t, std::string, std::int32_t>, storage::StepRecord>
            old_steps;  ///< as an earlier process left them, by config, target and unit
        std::map<std::tuple<StepId, TaskKind, std::int32_t>, storage::TaskRecord> old_tasks;
        bool over = false;
    };
    struct Config {
        CampaignId campaign;
        storage::ConfigRecord record;
        std::shared_ptr<const plan::Config> config;
        std::int64_t normalised_size = 0;
        TaskId split_task;
    };
    struct Step {
        storage::StepRecord record;
        std::uint32_t unit = 0;
        bool measured = false;
        std::unique_ptr<StepDocument> document;
        std::int64_t document_size = 0;
        std::int32_t kernel_count = 0;
        std::vector<protocol::Output> kernels;  ///< objects by kernel index; size 0 and zero digest until built
        std::optional<protocol::Output> helper_source;
        std::optional<protocol::Output> helper_object;
        std::vector<protocol::Output> bundle;
        std::map<std::int32_t, std::unique_ptr<MeasuredProblemState>> problems;
        TaskId first_task;   ///< prepare, finish, conclude
        TaskId first_inner;  ///< helper, then one build per kernel, then one measurement per problem
    };

    /// What an earlier process had begun of a campaign that ends before it was begun again.
    void end_old_steps(const Campaign& campaign, std::vector<storage::Record>& out) const;
    void split_ended(Config& config, const ActionEnd& end, std::vector<storage::Record>& out);
    void add_steps(Config& config, const std::vector<plan::Unit>& units, std::vector<storage::Record>& out);
    void prepare_ended(Step& step, const ActionEnd& end, std::vector<storage::Record>& out);
    Status accept_document(Step& step, const ActionEnd& end, std::vector<storage::Record>& out);
    void conclude_ended(Step& step, const ActionEnd& end, std::vector<storage::Record>& out);
    ActionDraft draft_finish(const Step& step) const;
    Result<ActionDraft> draft_conclude(Step& step, std::vector<storage::Record>& out);
    ActionDraft draft_measure(Step& step, std::int32_t problem) const;
    MeasuredProblemState& problem_state(Step& step, std::int32_t problem);
    const storage::TaskRecord* old_task(CampaignId campaign, StepId step, TaskKind kind, std::int32_t index) const;
    void write_tasks(const Step& step, TaskKind kind, std::int32_t count, std::vector<storage::Record>& out) const;

    schedule::Graph& graph_;
    Artifacts& artifacts_;
    Memory& memory_;
    IdSource& ids_;
    std::map<CampaignId, Campaign> campaigns_;
    std::map<ConfigId, Config> configs_;
    std::map<StepId, Step> steps_;
    std::vector<CampaignId> ended_;
};

}  // namespace tunefarm::server
