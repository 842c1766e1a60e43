// SPDX-License-Identifier: MIT
// What the reading commands show, as plain structs and as their `--json` texts. Read-only; each call is one short
// read transaction, so that a running coordinator's WAL can be checkpointed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/types.h"

namespace tunefarm::storage {

/// Which campaign. Neither set: the latest one.
struct CampaignChoice {
    CampaignId id;
    std::string name;  ///< the newest campaign of this name
};

struct ResultsFilter {
    CampaignChoice campaign;
    StepId step;         ///< none: all steps
    std::string target;  ///< empty: all targets
    bool winners_only = false;
};

/// One measured (problem, solution), or one solution of a build-only step: status "built", no problem, no device, no
/// samples and no times.
struct ResultRow {
    std::string config;  ///< path as given
    StepId step_id;
    std::int32_t step = 0;  ///< index of the unit in its config; (config, step, target) is unique in a campaign
    std::string group_name;
    std::string target;
    std::optional<std::string> problem;
    std::string kernel;
    std::string solution;
    std::optional<std::string> device;
    std::optional<std::string> validation;  ///< "PASSED" or "FAILED"
    std::int64_t samples = 0;
    std::optional<double> median_us;
    std::optional<double> ci_low_us;  ///< absent when there are too few samples for an interval
    std::optional<double> ci_high_us;
    std::optional<double> gflops;
    std::string status;                 ///< "pending", "screened", "converged", "noisy", "budget", "failed", or "built"
    std::optional<std::string> winner;  ///< "winner" or "tie"
    bool simulated = false;
};

struct TaskCounts {
    std::int64_t executed = 0;  ///< ended well by an attempt made for this campaign
    std::int64_t cached = 0;    ///< ended well by an action that had been executed before
    std::int64_t failed = 0;
    std::int64_t pending = 0;
    std::int64_t running = 0;
};

struct CampaignStatus {
    CampaignId id;
    std::string name;
    std::string state;
    std::map<std::string, std::int64_t> steps;           ///< by how they ended, or by progress while open
    std::vector<std::pair<TaskKind, TaskCounts>> tasks;  ///< kinds that occur, in the order of a step's life
    std::optional<double> lower_bound_s;
    double elapsed_s = 0;
    /// From the mean durations so far, slots and devices; absent when a kind that is left has none yet, or nothing
    /// runs.
    std::optional<double> eta_s;
};

/// Attempts of one kind, added up.
struct KindTime {
    TaskKind kind = TaskKind::kSplit;
    std::int64_t attempts = 0;
    std::int64_t failed = 0;
    Micros queued{0};  ///< between queued and started: waiting, never part of busy
    Micros busy{0};    ///< between started and ended
    Micros cpu{0};
    Bytes peak_memory;                     ///< the largest
    std::map<std::string, Micros> phases;  ///< parts of busy, as the drivers report them
};

struct StepTime {
    StepId id;
    std::string config;
    std::int32_t step = 0;
    std::string target;
    std::vector<std::pair<TaskKind, Micros>> busy;  ///< an action shared by steps counts for its first requester only
};

/// slots × wall = busy + idle, each measured on its own.
struct HostTime {
    WorkerId worker;
    std::string host;
    std::int32_t slots = 0;
    Micros wall{0};
    std::vector<std::pair<std::string, Micros>> busy;
    std::vector<std::pair<std::string, Micros>> idle;
    double difference_percent = 0;  ///< (busy + idle − slots × wall) / (slots × wall)
};

/// Time that passes beside other time; listed, never added to a sum.
struct OverlappingTime {
    std::string name;
    Micros duration{0};
    std::string meaning;
};

struct Timing {
    CampaignId id;
    std::string name;
    std::string state;
    double elapsed_s = 0;
    std::vector<KindTime> kinds;
    std::vector<StepTime> steps;
    std::vector<HostTime> hosts;  ///< workers that were connected during the campaign; figures of their whole process
    std::vector<OverlappingTime> overlapping;
};

struct StepFile {
    std::string name;
    Digest digest;
};

struct StepRow {
    StepId id;
    std::string config;
    std::int32_t step = 0;
    std::string target;
    std::string group_name;
    StepEnd end = StepEnd::kNone;
    std::string message;            ///< why it failed
    std::int64_t permutations = 0;  ///< that prepare looked at, 0 before it
    std::int64_t rejected = 0;      ///< of these, by prepare; their reasons are in the export table "rejected"
    std::vector<StepFile> files;
};

/// One ended attempt and what its driver said.
struct AttemptLog {
    TaskKind kind = TaskKind::kSplit;
    std::string description;  ///< the kernel's name, or the config and step
    std::string target;
    std::string host;
    std::int64_t attempt = 0;
    Outcome outcome = Outcome::kOk;
    Micros duration{0};   ///< started to ended; 0 if it was lost before it started
    std::string message;  ///< why it did not end well
    std::string log;      ///< the end of what the driver and its children printed
};

/// One connection, one thread at a time.
class ReadModels {
  public:
    /// `path`: the database file. kNotFound when it is not there.
    static Result<std::unique_ptr<ReadModels>> open(const std::string& path);
    ~ReadModels();
    ReadModels(const ReadModels&) = delete;
    ReadModels& operator=(const ReadModels&) = delete;

    /// By config, step, problem, then median (rows without one last), solution. kNotFound: no such campaign; an empty
    /// database has no rows.
    Result<std::vector<ResultRow>> results(const ResultsFilter& filter = {});
    /// All campaigns, newest first. `now` gives elapsed times of open ones.
    Result<std::vector<CampaignStatus>> status(Instant now);
    Result<Timing> timing(const CampaignChoice& campaign, Instant now);
    /// By config, target, step.
    Result<std::vector<StepRow>> steps(const CampaignChoice& campaign);
    /// In the order of dispatch; those that did not end well, or `all`.
    Result<std::vector<AttemptLog>> logs(const CampaignChoice& campaign, bool all);

  private:
    struct State;
    explicit ReadModels(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// The documented, versioned `--json` shapes (docs/storage.md), one line without a final newline.
std::string to_json(const std::vector<ResultRow>& rows);
std::string to_json(const std::vector<CampaignStatus>& campaigns);
std::string to_json(const Timing& timing);
std::string to_json(const std::vector<AttemptLog>& logs);

}  // namespace tunefarm::storage
