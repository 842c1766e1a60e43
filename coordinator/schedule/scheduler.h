// SPDX-License-Identifier: MIT
// The pure scheduling core: which waiting action runs on which worker now. (state, event, now) → decisions.
// No clock, no I/O, no randomness, no hash order: equal event sequences give equal decisions. Single-threaded.
//
// Work is grouped in classes (kind × toolchain × target × fingerprint). Workers with equal abilities form a pool. A
// free slot takes the best waiting action of the classes that its pool can run, in this order:
//   user priority → fair share between campaigns → stage → Johnson rank of the step → helper first → longest first →
//   id.
// "Stage" is what keeps the pool full and the steps ending: conclude and finish come before all else, and prepare
// before builds only while few builds wait. Rules that are not an order are predicates (blocked()). A CPU action that
// runs far longer than predicted gets one backup attempt on another host when slots are idle; the first to end wins.
// Measurements never do: a copy would measure contention. An action that failed on a host is tried on another one, if
// there is one; hosts that fail where others succeed are quarantined (host_health.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/digest.h"
#include "base/types.h"
#include "coordinator/schedule/host_health.h"
#include "coordinator/schedule/ids.h"

namespace tunefarm::schedule {

struct ClassSpec {
    TaskKind kind = TaskKind::kNoop;
    std::string toolchain;
    std::string target;
    Digest fingerprint;
    auto operator<=>(const ClassSpec&) const = default;
};

struct DeviceSpec {
    std::string target;
    std::uint32_t slots = 0;  ///< taken from the worker's slots while it measures
    auto operator<=>(const DeviceSpec&) const = default;
};

struct WorkerSpec {
    std::string host;
    std::uint32_t slots = 0;
    std::uint32_t prefetch = 0;  ///< assignments beyond the slots, so that none waits for a round trip
    Bytes memory;
    std::vector<ClassSpec> abilities;
    std::vector<DeviceSpec> devices;
};

/// One campaign's wish for an action. An action runs with the best of its requests.
struct Request {
    CampaignId campaign;
    std::int32_t priority = 0;  ///< of the user; higher first
    double rank = 0;            ///< Johnson rank of the step; lower first
    StepId step;                ///< between steps of one rank: they run one after the other, not interleaved
};

struct ActionSpec {
    ActionId id;
    ClassId cls;
    Micros predicted{0};
    Bytes memory;
    Micros straggler_after{0};  ///< a backup attempt may start when it has run for so long; 0: never
};

/// Execute these attempts on `worker`; several items only for tiny tasks of one class.
struct Dispatch {
    WorkerId worker;
    ClassId cls;
    std::int32_t device = -1;  ///< index into the worker's devices, for measurements
    bool backup = false;       ///< beside an attempt that runs for too long
    struct Item {
        ActionId action;
        std::uint32_t attempt = 0;
    };
    std::vector<Item> items;
};

/// What becomes of an action after one of its attempts ended.
enum class Verdict {
    kStale,   ///< not a live attempt: ignore it
    kRetry,   ///< waits again for a worker
    kBackup,  ///< this attempt failed, another one of the action is still running
    kDone,    ///< succeeded; the action has left the scheduler
    kFailed,  ///< failed for good; the action has left the scheduler
};

/// A live attempt.
struct Running {
    WorkerId worker;
    std::uint32_t attempt = 0;
};

struct Ending {
    Verdict verdict = Verdict::kStale;
    std::vector<Running> cancel;  ///< other attempts of the action that are of no use any more
};

class Scheduler {
  public:
    struct Options {
        std::uint32_t max_attempts = 3;   ///< of crashes, time-outs and out-of-memory, before it is a failure
        std::uint32_t max_losses = 6;     ///< of workers while they held it: it may be what kills them
        std::uint32_t confirmations = 2;  ///< diagnostics by the toolchain that make a failure a fact
        Micros bundle_below{50'000};      ///< predicted duration under which tasks are bundled
        Micros bundle_total{500'000};
        std::uint32_t bundle_most = 128;
        double backup_share = 0.05;  ///< of the farm's slots; at least one
        /// A host that died is expected back for so long: what failed elsewhere waits for it to be tried there.
        Micros expected_back{600'000'000};
        HostHealth::Options health;
    };

    Scheduler() : Scheduler(Options{}) {}
    explicit Scheduler(Options options) : options_(options), health_(options.health) {}

    ClassId intern(const ClassSpec& spec);
    const ClassSpec& spec(ClassId cls) const { return classes_[index(cls)].spec; }
    /// What an attempt of this class is now seen to take: also for actions that wait since before that was known.
    void class_memory(ClassId cls, Bytes memory) { classes_[index(cls)].memory = memory; }

    void worker_joined(WorkerId worker, WorkerSpec spec);
    /// New limits of a connected worker; 0 slots: nothing new is sent.
    void worker_limits(WorkerId worker, std::uint32_t slots, Bytes memory);
    /// Its attempts wait again, and travel alone; no failure is counted, unless their workers die again and again.
    struct Lost {
        ActionId action;
        bool failed = false;  ///< for good: the action has left the scheduler
    };
    /// `died`: its process or host ended; otherwise it went away orderly or only its connection did.
    std::vector<Lost> worker_lost(WorkerId worker, bool died, Instant now);
    /// An attempt that went on without the coordinator is the action's again; false if the action is not waiting, or
    /// the device measures something else.
    /// A host that a restarted coordinator knew: as if it had just died.
    void expect(const std::string& host, Instant now) { departed_[host] = {-1, now}; }
    bool adopt(WorkerId worker, ActionId action, std::uint32_t attempt, std::int32_t device, Instant now);

    /// The action waits from now on. Adding a known action only adds the request.
    void add(const ActionSpec& action, const Request& request, std::uint32_t attempts_so_far = 0);
    /// The campaign no longer wants it. `cancel` says where it ran, if nobody else wants it.
    struct Withdrawn {
        bool gone = false;  ///< nobody wants it: it has left the scheduler
        std::vector<Running> cancel;
    };
    Withdrawn withdraw(ActionId action, CampaignId campaign);

    /// A valid result of an attempt that was given up (late, or of an earlier coordinator): the action is done and
    /// leaves the scheduler. Returns its live attempts, which are of no use any more.
    std::vector<Running> complete(ActionId action);

    /// `took`: execution time, by which the fair share is corrected from what was predicted.
    Ending attempt_ended(ActionId action, std::uint32_t attempt, Outcome outcome, Micros took, Instant now);

    /// Appends every dispatch that is possible now.
    void decide(Instant now, std::vector<Dispatch>& out);

    /// Waiting (not running) actions of this kind; the graph admits builds while this is low.
    std::size_t waiting(TaskKind kind) const { return waiting_by_kind_[static_cast<std::size_t>(kind)]; }
    std::size_t waiting_builds(CampaignId campaign) const;
    std::size_t running() const { return running_; }
    std::uint32_t total_slots() const { return total_slots_; }
    std::size_t workers() const { return workers_.size(); }
    /// Some connected worker has a device for this target.
    bool has_device(const std::string& target) const;

    /// The action's state for people: where it runs, or else why not, from the predicates that decide() uses: one line
    /// per reason, with the hosts that it holds for.
    struct Why {
        bool running = false;
        std::vector<std::string> lines;
    };
    Why explain(ActionId action, Instant now) const;
    /// Hosts that were quarantined, probed or trusted again since the last call: (host, sentence).
    std::vector<std::pair<std::string, std::string>> take_host_changes() { return health_.take_changes(); }

  private:
    struct QueueKey {
        double rank = 0;
        StepId step;
        bool not_helper = true;
        std::int64_t longest = 0;  ///< negated predicted microseconds
        ActionId action;
        auto operator<=>(const QueueKey&) const = default;
    };
    struct Campaign {
        double used = 0;  ///< predicted seconds dispatched so far, the virtual time of fair sharing
        std::int32_t priority = 0;
        std::size_t waiting = 0;
        std::size_t waiting_builds = 0;
    };
    struct Class {
        ClassSpec spec;
        std::map<CampaignId, std::set<QueueKey>> queues;
        std::size_t waiting = 0;
        Bytes memory;  ///< 0: nothing seen
    };
    struct Run {
        WorkerId worker;
        std::uint32_t attempt = 0;
        std::int32_t device = -1;
        std::uint64_t bundle = 0;  ///< items of one bundle take one assignment together; 0: alone
        std::int64_t memory = 0;
        Instant straggler;  ///< of its entry in watch_, zero if it has none
    };
    struct Action {
        ActionSpec spec;
        std::vector<Request> requests;
        QueueKey key;             ///< valid while waiting
        CampaignId queued_under;  ///< valid while waiting
        std::uint32_t attempts = 0;
        std::uint32_t crashes = 0;
        std::uint32_t losses = 0;
        std::uint32_t diagnostics = 0;
        std::vector<Run> runs;               ///< live attempts, at most two; none while waiting
        std::vector<WorkerId> excluded;      ///< workers that said they cannot
        std::vector<std::string> failed_on;  ///< hosts
    };
    struct Worker {
        WorkerSpec spec;
        std::int32_t pool = 0;
        std::uint32_t used = 0;          ///< assignments outstanding (a bundle counts once)
        std::uint32_t device_slots = 0;  ///< slots taken by running measurements
        std::int64_t memory_used = 0;
        std::vector<bool> device_busy;
        bool alone = false;    ///< a measurement on it takes the whole host
        bool suspect = false;  ///< it runs something that may kill it, and nothing else
        HostState health = HostState::kTrusted;
        std::vector<ActionId> running;                   ///< ascending
        std::map<std::uint64_t, std::uint32_t> bundles;  ///< open bundle → items left
    };
    struct Pool {
        std::vector<ClassSpec> abilities;
        std::vector<DeviceSpec> devices;
        std::vector<bool> can;                                      ///< by class index
        std::set<std::pair<std::uint32_t, WorkerId>> open;          ///< (used, worker) with credit for CPU work
        std::set<std::pair<std::uint32_t, WorkerId>> open_devices;  ///< (used, worker) with a free device
        std::size_t workers = 0;
    };
    struct Choice {
        ClassId cls;
        CampaignId campaign;
        ActionId action;
    };

    static std::size_t index(ClassId cls) { return static_cast<std::size_t>(cls.value() - 1); }
    bool pool_can(const Pool& pool, const ClassSpec& spec) const;
    void enqueue(Action& action);
    void dequeue(Action& action);
    void release(Action& action, std::size_t run);
    /// The action leaves the scheduler; returns the attempts that were live.
    std::vector<Running> remove(Action& action);
    bool has_credit(const Worker& worker) const;
    std::int64_t memory_of(const Action& action) const;
    bool fits(const Action& action, const Worker& worker) const;
    /// Its host is trusted, or it is idle and may be probed.
    bool trusted(const Worker& worker) const;
    void charge(const Action& action, Micros time);
    void update_health();
    void judge(const Action& action, const std::string& host, Outcome outcome, Instant now);
    void reopen(WorkerId id, Worker& worker, std::uint32_t used_before);
    /// The best action for this worker: measurements or CPU work.
    std::optional<Choice> best(const Pool& pool, const Worker& worker, WorkerId id, bool measure) const;
    int stage(TaskKind kind) const;
    std::optional<std::int32_t> free_device(const Worker& worker, const std::string& target) const;
    bool work_waits(const Pool& pool, bool measure) const;
    /// Highest user priority of the work that waits; least possible if none does.
    std::int32_t top_priority(const Pool& pool, bool measure) const;
    /// A host that may take the action and has not failed it.
    bool another_host(const Action& action) const;
    /// Workers died under it again and again: it or its neighbours may be what kills them, so it runs alone.
    static bool suspect(const Action& action) { return action.losses >= 2; }
    /// Slots that waiting measurements need on this worker, so that CPU work leaves them free.
    std::uint32_t reserved(const Worker& worker, const Pool& pool) const;
    /// What keeps the action from starting on a worker now; kFree: nothing.
    enum class Block : std::uint8_t {
        kFree,
        kExcluded,
        kNoNewWork,
        kQuarantined,
        kOtherHost,
        kSuspect,
        kBesideSuspect,
        kMemory,
        kSlot,
        kReserved,
        kForMeasurement,
        kDevice,
        kIdle,
        kOtherWork,
        kReservedSlots
    };
    Block blocked(const Action& action, WorkerId id, const Worker& worker, const Pool& pool) const;
    std::string words(Block block, const Action& action, const Worker& worker, Instant now) const;
    void start(Action& action, WorkerId id, Worker& worker, std::int32_t device, std::uint64_t bundle, Instant now);
    void dispatch(const Choice& choice, WorkerId id, Worker& worker, Instant now, std::vector<Dispatch>& out);
    void bundle_more(const Choice& first, WorkerId id, Worker& worker, std::uint64_t bundle, Instant now,
                     Dispatch& dispatch);
    void decide_pool(Pool& pool, bool measure, Instant now, std::vector<Dispatch>& out);
    void watch(Run& run, ActionId action, Instant at);
    /// The attempt that an entry of watch_ stands for; null: it has ended.
    Run* watched(const std::pair<Instant, ActionId>& entry);
    bool back_up(Action& action, Instant now, std::vector<Dispatch>& out);
    void back_up_stragglers(Instant now, std::vector<Dispatch>& out);

    struct Departed {
        std::int32_t pool = 0;  ///< -1: unknown, taken for able
        Instant at;
    };
    Options options_;
    Instant now_;                               ///< of the last decision
    std::map<std::string, Departed> departed_;  ///< hosts that died
    HostHealth health_;
    std::uint64_t health_version_ = 0;
    std::vector<Class> classes_;
    std::map<ClassSpec, ClassId> class_ids_;
    std::vector<Pool> pools_;
    std::map<WorkerId, Worker> workers_;
    std::unordered_map<std::int64_t, Action> actions_;  ///< by id; never iterated
    std::map<CampaignId, Campaign> campaigns_;
    /// When a running CPU action becomes a straggler: a heap, soonest first. An entry whose attempt has ended stays
    /// until its time comes, or until most entries are such.
    std::vector<std::pair<Instant, ActionId>> watch_;
    std::size_t backups_ = 0;
    std::size_t waiting_by_kind_[kTaskKinds] = {};
    std::size_t running_ = 0;
    std::uint32_t total_slots_ = 0;
    std::uint64_t next_bundle_ = 1;
};

}  // namespace tunefarm::schedule
