// SPDX-License-Identifier: MIT
// The life of campaigns as a pure state machine: configs → split → steps → prepare → helper + builds → finish →
// measurements → conclude, with the gates between steps. It says which tasks may start; the scheduler says where.
// No clock, no I/O. Single-threaded. Steps, not tasks, are objects: ten million kernels are counters and one cost each.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace tunefarm::schedule {

struct ReadyTask {
    CampaignId campaign;
    ConfigId config;
    StepId step;  ///< none for a split
    TaskKind kind = TaskKind::kSplit;
    std::int32_t index = 0;  ///< kernel of a build, problem of a measurement
    auto operator<=>(const ReadyTask&) const = default;
};

struct NewStep {
    StepId id;
    StepId prepare_after;    ///< gate: its finish must have ended well; none: no gate
    StepId conclude_after;   ///< gate: its conclude must have ended; none: no gate
    bool measured = false;   ///< false: build-only
    double cpu_seconds = 0;  ///< estimate of its CPU work, for the step order
    double device_seconds = 0;
};

struct PreparedStep {
    std::vector<float> kernel_costs;  ///< relative build effort, one per kernel
    bool helper = false;
    std::int32_t problems = 0;
};

/// A step whose state for people changed, in the order it happened.
struct StepChange {
    StepId step;
    std::string state;  ///< "waiting", "preparing", "building", "measuring", "concluding", "ended"
    StepEnd end = StepEnd::kNone;
    std::string message;
};

enum class CampaignState : std::uint8_t { kSplitting, kRunning, kRejected, kDone, kFailed, kCancelled };

class Graph {
  public:
    /// Farm-wide capacities for the step order (Johnson's rule); at least 1 each.
    void set_capacity(double cpus, double devices);

    void add_campaign(CampaignId campaign, std::int32_t configs);
    void add_config(CampaignId campaign, ConfigId config);
    /// Steps start only when every config of the campaign has been split: an input error in one of them refuses all.
    void split_done(ConfigId config, const std::vector<NewStep>& steps);
    void split_failed(ConfigId config, const std::string& message);

    void prepared(StepId step, PreparedStep prepared);
    /// A task other than split and prepare ended for good; also a failed prepare.
    void task_ended(StepId step, TaskKind kind, bool ok, const std::string& message);
    /// Nothing of the campaign becomes ready any more.
    void cancel(CampaignId campaign);
    /// Nothing is known of the campaign any more, so that it can be added again with the same steps.
    void remove(CampaignId campaign);

    /// Tasks that became ready since the last call, builds excepted.
    std::vector<ReadyTask> take_ready();
    /// Campaigns that have builds to admit. Each is admitted by itself: how they share the farm is the scheduler's.
    std::vector<CampaignId> building() const;
    /// Up to `most` more builds of the campaign, best step first, within a step the longest first.
    std::vector<ReadyTask> admit_builds(CampaignId campaign, std::size_t most);
    std::vector<StepChange> take_changes();

    /// Johnson rank: lower runs first.
    double rank(StepId step) const;
    CampaignState state(CampaignId campaign) const;
    /// Tasks of the campaign that have not ended, by kind, as far as they are known.
    std::array<std::int64_t, kTaskKinds> open_tasks(CampaignId campaign) const;
    /// Tasks of one step that wait for other tasks (not for a worker), and for what.
    struct Wait {
        TaskKind kind = TaskKind::kPrepare;
        std::int64_t count = 1;
        std::string reason;
    };
    std::vector<Wait> waits(StepId step) const;

  private:
    enum class Part : std::uint8_t { kNone, kWaiting, kReady, kOk, kFailed };
    struct Step {
        CampaignId campaign;
        ConfigId config;
        NewStep spec;
        double rank = 0;
        Part prepare = Part::kWaiting;
        Part helper = Part::kNone;
        Part finish = Part::kNone;
        Part conclude = Part::kWaiting;
        bool ended = false;
        bool ended_well = false;
        std::vector<std::int32_t> build_order;  ///< not yet admitted, next one last
        std::int32_t kernels = 0;
        std::int32_t builds_ended = 0;
        std::int32_t builds_ok = 0;
        std::int32_t problems = 0;
        bool measuring = false;
        std::int32_t measures_ended = 0;
        std::string helper_message;
        std::string build_message;
        std::string measure_message;
        std::vector<StepId> waiting_prepares;
        std::vector<StepId> waiting_concludes;
    };
    struct Campaign {
        std::int32_t splits_open = 0;
        bool rejected = false;
        bool cancelled = false;
        bool failed_step = false;
        std::int32_t steps_open = 0;
        std::vector<StepId> held;  ///< steps that wait for the other configs' splits
    };

    void release_steps(Campaign& campaign);
    void try_prepare(Step& step);
    void try_finish(Step& step);
    void try_measure(Step& step);
    void try_conclude(Step& step);
    void end(Step& step, StepEnd how, const std::string& message);
    void ready(const Step& step, TaskKind kind, std::int32_t index);
    void change(const Step& step, const char* state);
    void admitted(const Step& step);
    std::string measure_waits_for(const Step& step) const;
    std::string conclude_waits_for(const Step& step) const;
    double johnson(double cpu_seconds, double device_seconds) const;

    double cpus_ = 1;
    double devices_ = 1;
    std::map<CampaignId, Campaign> campaigns_;
    std::map<ConfigId, CampaignId> configs_;
    std::map<StepId, Step> steps_;
    /// Steps with builds to admit, by rank; no campaign without one.
    std::map<CampaignId, std::set<std::pair<double, StepId>>> building_;
    std::vector<ReadyTask> ready_;
    std::vector<StepChange> changes_;
};

}  // namespace tunefarm::schedule
