// SPDX-License-Identifier: MIT
// What the coordinator asks the single database writer to record, as plain values. Each record is idempotent: writing
// it twice leaves the same rows. What a row belongs to (key, campaign, step, kind, item) is taken from its first
// record, its state from the last one. The tables behind them are documented in docs/storage.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/types.h"

namespace tunefarm::storage {

/// A new campaign, or a changed state of a known one ("running", "done", "failed", "cancelled", "interrupted").
struct CampaignRecord {
    CampaignId id;
    std::string name;
    std::string state;
    Digest key;           ///< configs + targets + options: the same command again finds its unfinished campaign by it
    std::string options;  ///< JSON object
    Instant created;
    Instant ended;  ///< zero while open
    double lower_bound_s = 0;
};

struct ConfigRecord {
    ConfigId id;
    CampaignId campaign;
    std::string path;
    std::string toolchain;
    Digest content;     ///< of the file's bytes
    Digest normalised;  ///< artifact: the normalised config
};

/// A step; written again when its state changes. `state` is the step's progress for people:
/// "split", "prepared", "building", "measuring", "concluding", "ended".
struct StepRecord {
    StepId id;
    CampaignId campaign;
    ConfigId config;
    std::int32_t index = 0;  ///< unit within the config, from 0
    std::string target;
    std::string problem;
    std::string group_name;
    std::string cache_key;
    std::int64_t fork_permutations = 0;
    std::int64_t size_entries = 0;
    std::string state;
    StepEnd end = StepEnd::kNone;
    std::string message;  ///< why it failed
    Digest document;      ///< artifact: the step document, zero until prepared
};

/// `waiter`'s task of kind `task` waits for the same kind's counterpart of `holder`.
struct GateRecord {
    StepId waiter;
    StepId holder;
    std::string reason;  ///< "same cache directory", "same problem-size group name"
    TaskKind waiting_task = TaskKind::kPrepare;
    TaskKind held_task = TaskKind::kFinish;
};

struct KernelRecord {
    StepId step;
    std::int32_t index = 0;
    std::string name;
};

struct SolutionRecord {
    StepId step;
    std::int32_t index = 0;
    std::string name;
    std::int32_t kernel = 0;  ///< index of its kernel in the step
    std::string parameters;   ///< JSON object
};

struct ProblemRecord {
    StepId step;
    std::int32_t index = 0;
    std::string name;
    std::string sizes;  ///< JSON array
    double flop = 0;    ///< floating-point operations of one launch
};

/// A step's request for an action or a measurement. States: "waiting", "running", "done", "failed",
/// "cancelled".
struct TaskRecord {
    TaskId id;
    StepId step;  ///< none for a config's split
    CampaignId campaign;
    TaskKind kind = TaskKind::kSplit;
    std::int32_t index = 0;  ///< kernel index for builds, problem index for measurements, else 0
    std::int32_t round = 0;
    ActionId action;  ///< none until it asks for one
    std::string state;
    bool cached = false;  ///< its action had already been executed
};

/// An action: unique by key. Rewritten with its outcome when it ends.
struct ActionRecord {
    ActionId id;
    Digest key;
    TaskKind kind = TaskKind::kSplit;
    std::string toolchain;
    std::string target;
    Digest fingerprint;
    std::string description;  ///< for people: the kernel's name, the config's path
    bool finished = false;
    Outcome outcome = Outcome::kOk;  ///< meaningful when finished
    bool cacheable = false;          ///< outcome may answer later requests
    std::string message;
    std::string result;  ///< JSON object
};

struct ActionOutputRecord {
    ActionId action;
    std::string name;
    Digest digest;
    std::int64_t size = 0;
};

/// One execution. Written at dispatch, and again when it ends.
struct AttemptRecord {
    ActionId action;
    std::uint32_t attempt = 0;
    WorkerId worker;
    Instant queued;   ///< wall clock of the coordinator
    Instant started;  ///< zero until known
    Instant ended;    ///< zero while running
    Outcome outcome = Outcome::kOk;
    Micros cpu{0};
    Bytes peak_memory;
    std::string phases;  ///< JSON object: name → microseconds
    std::string message;
    std::string log;
};

struct WorkerRecord {
    WorkerId id;
    std::string host;
    std::string boot;  ///< hex
    std::int32_t slots = 0;
    Bytes memory;
    Instant connected;
    Instant lost;         ///< zero while connected
    std::string devices;  ///< JSON array
};

/// Slot time of one worker process so far; replaces the earlier figures.
struct AccountRecord {
    WorkerId worker;
    std::int32_t slots = 0;
    Micros wall{0};
    std::vector<std::pair<std::string, Micros>> busy;  ///< by task kind
    std::vector<std::pair<std::string, Micros>> idle;  ///< by reason
};

/// The state of one (step, problem, solution) pair: "PASSED", "FAILED", "" (not validated) and a status
/// ("pending", "screened", "converged", "noisy", "budget", "failed").
struct MeasurementRecord {
    StepId step;
    std::int32_t problem = 0;
    std::int32_t solution = 0;
    std::string device;  ///< "host/device id"
    std::string validation;
    std::string status;
    bool simulated = false;
    std::string message;
};

/// One timing sample, kept for ever. (step, problem, solution, sample) is unique.
struct SampleRecord {
    StepId step;
    std::int32_t problem = 0;
    std::int32_t solution = 0;
    std::int32_t sample = 0;  ///< position in the measurement of this problem: orders all solutions' samples in time
    std::int32_t block = 0;   ///< interleaving block; samples of one block are paired
    double us = 0;            ///< microseconds per launch
    std::int32_t launches = 1;
};

/// What conclude decided for one (step, problem, solution).
struct ResultRecord {
    StepId step;
    std::int32_t problem = 0;
    std::int32_t solution = 0;
    std::int32_t samples = 0;
    double median_us = 0;
    double ci_low_us = 0;  ///< 0 when there is no interval
    double ci_high_us = 0;
    double gflops = 0;
    std::string winner;  ///< "winner", "tie" or ""
};

struct StepFileRecord {
    StepId step;
    std::string name;  ///< relative path below the step's folder
    Digest digest;
    std::int64_t size = 0;
};

/// Artifacts of a pinned campaign survive `gc`.
struct PinRecord {
    CampaignId campaign;
    bool pinned = true;
};

/// Failures of the campaign's actions answer no request any more: whoever wants them has them executed again.
struct ForgetRecord {
    CampaignId campaign;
};

using Record =
    std::variant<CampaignRecord, ConfigRecord, StepRecord, GateRecord, KernelRecord, SolutionRecord, ProblemRecord,
                 TaskRecord, ActionRecord, ActionOutputRecord, AttemptRecord, WorkerRecord, AccountRecord,
                 MeasurementRecord, SampleRecord, ResultRecord, StepFileRecord, PinRecord, ForgetRecord>;

}  // namespace tunefarm::storage
