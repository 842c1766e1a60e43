// SPDX-License-Identifier: MIT
// What the coordinator reads: at start, to go on where it stopped, and while running, to answer requests from the
// action cache. Never to decide what runs next. Sees only what is committed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "storage/records.h"

namespace tunefarm::storage {

/// The largest id in use of each kind, 0 when there is none: new ids count on from here.
struct LastIds {
    CampaignId campaign;
    ConfigId config;
    StepId step;
    TaskId task;
    ActionId action;
    WorkerId worker;
};

struct CachedAction {
    ActionId id;
    Digest key;
    TaskKind kind = TaskKind::kSplit;
    bool finished = false;
    Outcome outcome = Outcome::kOk;  ///< meaningful when finished
    bool cacheable = false;          ///< the outcome answers this request
    std::string message;
    std::string log;     ///< of a failed action: the end of what its last attempt printed
    std::string result;  ///< JSON object
    std::vector<ActionOutputRecord> outputs;
    std::uint32_t last_attempt = 0;  ///< the next attempt of this action has a larger number
};

struct OpenCampaign {
    CampaignRecord record;
    std::vector<ConfigRecord> configs;  ///< by id: the order of submission
    /// By id. A step's config index is the position of `config` in configs; `index` is its unit, `target` its target.
    std::vector<StepRecord> steps;
    std::vector<TaskRecord> measured;  ///< the measure tasks that are done, by id
    std::vector<TaskRecord> tasks;     ///< all tasks, by id
};

/// What was committed of the measurement of one problem.
struct MeasuredProblem {
    std::vector<MeasurementRecord> measurements;  ///< by solution
    std::vector<SampleRecord> samples;            ///< by sample, then solution: the order in time
};

/// One ended attempt, for prediction.
struct PastAttempt {
    ActionId action;
    Outcome outcome = Outcome::kOk;
    Micros duration{0};  ///< started to ended
    Micros cpu{0};
    Bytes peak_memory;
    std::string description;  ///< of the action: the family is derived from it
};

/// One connection, one thread (a reader may move between threads, but is used by one at a time).
class StateReader {
  public:
    /// The database must exist (a Writer has opened it).
    static Result<std::unique_ptr<StateReader>> open(const std::string& path);
    ~StateReader();
    StateReader(const StateReader&) = delete;
    StateReader& operator=(const StateReader&) = delete;

    Result<LastIds> last_ids();

    /// Until release() every read sees the state of the first one, and costs two system calls less. Keep it short: the
    /// writer's WAL cannot be checkpointed meanwhile.
    Status hold();
    void release();

    /// The action of this key, also one that is unfinished or not cacheable: its id is the one to use for the key.
    Result<std::optional<CachedAction>> find_action(const Digest& key);

    /// Half a second per million.
    Status each_action_key(const std::function<void(const Digest&)>& each);

    /// The newest campaign of this key that has no end ("running" or "interrupted").
    Result<std::optional<OpenCampaign>> find_open_campaign(const Digest& key);
    /// All campaigns that have no end, oldest first.
    Result<std::vector<CampaignId>> open_campaigns();
    /// Any campaign, ended or not; kNotFound.
    Result<OpenCampaign> campaign(CampaignId id);

    /// Hosts whose last worker was connected when the database was last written.
    Result<std::vector<std::string>> connected_hosts();

    Result<MeasuredProblem> measured(StepId step, std::int32_t problem);

    /// Attempts of one action that ended ok or by its input, newest first.
    Result<std::vector<PastAttempt>> history(const Digest& key, int limit);
    /// The same of all actions of a kind, toolchain and target ("" matches every toolchain or target).
    Result<std::vector<PastAttempt>> history(TaskKind kind, const std::string& toolchain, const std::string& target,
                                             int limit);

  private:
    struct State;
    explicit StateReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tunefarm::storage
