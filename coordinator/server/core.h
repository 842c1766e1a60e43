// SPDX-License-Identifier: MIT
// The coordinator's state machine: messages of workers in; assignments, acknowledgements and records out. It owns the
// action table and the attempts, and asks the pure core (schedule/) what may run and where. No sockets, threads or
// clock: `now` comes with every call, the world is behind seams.h. Single-threaded.
//
// Order of durability: artifacts are in the store before a result arrives; the result's records are submitted to the
// journal; only when their ticket is committed is the result acknowledged to the worker.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "coordinator/schedule/graph.h"
#include "coordinator/schedule/predictor.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/server/campaigns.h"
#include "coordinator/server/seams.h"

namespace tunefarm::server {

struct CoreOptions {
    std::string farm = "farm";
    std::string artifacts_endpoint;
    Micros heartbeat{1'000'000};
    Micros dead_after{15'000'000};
    schedule::Scheduler::Options scheduler;
};

/// Why one task, or several of a kind in one step, has not ended.
struct Explanation {
    ConfigId config;
    StepId step;  ///< none for a split
    TaskKind kind = TaskKind::kSplit;
    std::int32_t index = 0;  ///< kernel or problem; of the first, if there are several
    std::int64_t count = 1;  ///< tasks that this holds for
    bool running = false;
    std::vector<std::string> reasons;  ///< where it runs, or what it waits for: for people, best first
};

/// For progress lines: what is done, what runs, how far from the bound.
struct Progress {
    std::int64_t done = 0;  ///< tasks, cached ones included
    std::int64_t failed = 0;
    std::int64_t running = 0;
    std::int64_t left = 0;  ///< as far as they are known, running ones included
    /// Of the campaign from its start: work seen and predicted over the capacity of the farm; 0: not known yet.
    double lower_bound_s = 0;
    double left_s = 0;  ///< predicted time until the end; 0: not known yet
};

class Core {
  public:
    /// All references must outlive it.
    Core(CoreOptions options, Transport& transport, Journal& journal, Memory& memory, Artifacts& artifacts,
         const storage::LastIds& last);

    void message(const std::string& peer, const protocol::FromWorker& message, Instant now);
    /// A frame that could not be decoded; the peer is told what to do about it.
    void bad_frame(const std::string& peer, const Error& error);
    /// Hosts that were connected when an earlier coordinator of this farm ended: they are expected back.
    void expect_hosts(const std::vector<std::string>& hosts, Instant now) {
        for (const std::string& host : hosts) scheduler_.expect(host, now);
    }
    /// Commits progressed: acknowledges what they cover.
    void committed();
    /// Call at least once per heartbeat: heartbeats out, silent workers lost.
    void tick(Instant now);

    /// `resume`: the unfinished campaign of this key, if there is one; not one that runs here. One that had ended here
    /// begins anew, with the ids that it had.
    Result<CampaignId> submit(const CampaignRequest& request, const storage::OpenCampaign* resume, Instant now);
    void cancel(CampaignId campaign, Instant now);
    /// Campaigns that run become "interrupted"; workers are told to stop (or to finish what runs).
    void shut_down(bool drain, const std::string& reason);

    schedule::CampaignState state(CampaignId campaign) const { return graph_.state(campaign); }
    const std::vector<std::string>& input_errors(CampaignId id) const { return campaigns_.input_errors(id); }
    const std::vector<std::string>& failures(CampaignId id) const { return campaigns_.failures(id); }
    Progress progress(CampaignId campaign) const;
    const Campaigns& campaigns() const { return campaigns_; }
    /// Every task of the campaign (of the step, of the kind) that has not ended, in the order of steps; tasks of one
    /// kind and step with equal reasons are one entry, unless `kind` asks for single ones.
    std::vector<Explanation> explain(CampaignId campaign, std::optional<StepId> step, std::optional<TaskKind> kind,
                                     Instant now) const;
    std::size_t workers() const { return peers_.size(); }
    /// What connected workers say they lack for this toolchain and target, for messages.
    std::vector<std::string> missing(const std::string& toolchain, const std::string& target) const;
    /// Of every capability that the request's configs and targets use, as connected workers offer them now.
    std::vector<Digest> fingerprints(const CampaignRequest& request) const;
    bool can(TaskKind kind, const std::string& toolchain, const std::string& target) const;
    bool has_device(const std::string& target) const { return scheduler_.has_device(target); }
    /// Targets of the connected devices, in the order of their workers.
    std::vector<std::string> device_targets() const;

  private:
    struct Peer {
        WorkerId id;
        std::string peer;
        protocol::Hello hello;
        Instant connected;
        Instant last_seen;
        std::uint32_t slots = 0;
        std::uint64_t received = 0;  ///< messages on this connection
        std::uint64_t sent = 0;      ///< likewise; one that could not be sent counts, so that its loss is noticed
    };
    struct Run {
        WorkerId worker;
        std::uint32_t attempt = 0;
        Instant sent;
        std::uint64_t rows = 0;  ///< received so far
        std::int32_t device = -1;
    };
    struct Requester : schedule::ReadyTask {
        /// The task has ended before, but what it made is lost: the action makes it again, nobody else is told.
        bool again = false;
    };
    struct Action {
        ActionDraft draft;
        Digest key;
        schedule::ClassId cls;
        std::vector<Requester> requesters;
        schedule::Prediction prediction;
        std::vector<Run> runs;           ///< live attempts: none while it waits, two with a backup
        std::uint32_t last_attempt = 0;  ///< the highest number that is taken
    };
    /// Has left the table, perhaps not yet visible to Memory.
    struct Recent {
        ActionId id;
        std::uint32_t last_attempt = 0;
        bool finished = false;
        bool cacheable = false;
        ActionEnd end;
    };
    /// Waits until what it needs has been made again; then it is requested anew, since its inputs may have changed.
    struct Parked {
        Requester task;
        std::set<schedule::ReadyTask> awaited;
    };
    struct Sums {
        std::array<Micros, kTaskKinds> busy{};
        std::array<std::int64_t, kTaskKinds> executed{};
        std::int64_t done = 0;
        std::int64_t failed = 0;
    };

    // workers
    void on(const std::string& peer, const protocol::Hello& hello, Instant now);
    void on(Peer& peer, const protocol::WorkerHeartbeat& heartbeat);
    void on(Peer& peer, const protocol::Credit& credit);
    void on(Peer& peer, const protocol::Rows& rows);
    void on(Peer& peer, const protocol::AttemptResult& result, Instant now);
    enum class Loss : std::uint8_t { kDied, kLeft };
    void lose(WorkerId worker, Instant now, Loss how, const std::string& reason);
    Peer* find(const std::string& peer);
    bool send(Peer& peer, const protocol::FromCoordinator& message);
    /// Attempts that went on while their worker was not connected are the action's again.
    void take_back(WorkerId worker, const std::vector<protocol::AttemptKey>& running);
    void record_worker(const Peer& peer, Instant lost);

    // actions
    void pump(Instant now);
    /// What only this campaign wants is stopped.
    void withdraw(CampaignId campaign, Instant now);
    void request(const Requester& task);
    bool bind(ActionDraft& draft);
    bool answer_from_cache(const Requester& task, const Digest& key, ActionId& id, std::uint32_t& attempts);
    void dispatch(const schedule::Dispatch& dispatch, Instant now);
    void finish(ActionId id, Action& action, Outcome outcome, const ActionEnd& end);
    void tell(const Requester& task, ActionId id, const ActionEnd& end, bool cached);
    void record_action(ActionId id, const Action& action, const ActionEnd* end, Outcome outcome, bool cacheable);
    storage::AttemptRecord attempt_record(ActionId id, const Run& run) const;
    /// Takes the live attempt out of the action, if it is one.
    std::optional<Run> take_run(Action& action, WorkerId worker, std::uint32_t attempt);
    /// Attempts that nobody needs any more: recorded as cancelled, and their workers are told.
    void cancel_runs(ActionId id, Action& action, const std::vector<schedule::Running>& runs, Instant now,
                     const std::string& reason);
    void end_run(ActionId id, const Run& run, const protocol::AttemptResult& result);
    /// A result that no live attempt expects: a late one may still complete its action.
    void late_result(Peer& peer, const protocol::AttemptResult& result);
    void complete_late(const Peer& peer, Action& action, const protocol::AttemptResult& result);
    bool recently_finished(ActionId id) const;
    /// Once every campaign has ended nobody will ask for what orphans hold: their workers may forget it.
    void release_orphans();
    schedule::ActionSpec scheduled(ActionId id, const Action& action) const;
    /// Takes over what an earlier coordinator had begun of this action, if anything.
    void adopt(ActionId id, Action& action);
    void submit_records();
    /// The action leaves the table unfinished; its id and attempt numbers stay known. Returns its requesters.
    std::vector<Requester> dissolve(ActionId id, Action& action);

    // what was lost (core_lost.cpp)
    /// Inputs of the action that the store does not hold.
    std::vector<Digest> lost_inputs(const Action& action);
    /// Precondition: the action waits. Its requesters wait until their inputs have been made again.
    void make_inputs_again(ActionId id, Action& action, const std::vector<Digest>& lost);
    void made_again(const schedule::ReadyTask& producer, const ActionEnd& end);
    /// One more loss for this task; false: too many, the task has been told that it failed.
    bool may_try_again(const Requester& task);
    /// The end of a prepare holds a step document that the store can still read.
    bool document_is_there(const ActionEnd& end);
    std::vector<std::string> unbound_reasons(const schedule::ReadyTask& task) const;

    CoreOptions options_;
    Transport& transport_;
    Journal& journal_;
    Memory& memory_;
    Artifacts& artifacts_;
    IdSource ids_;
    schedule::Graph graph_;
    schedule::Scheduler scheduler_;
    schedule::Predictor predictor_;
    Campaigns campaigns_;

    std::map<WorkerId, Peer> peers_;
    std::map<std::string, WorkerId> peer_ids_;
    std::map<ActionId, Action> live_;
    std::unordered_map<Digest, ActionId, DigestHash> live_by_key_;
    std::unordered_map<Digest, Recent, DigestHash> recent_;
    std::deque<std::pair<std::uint64_t, Digest>> recent_tickets_;
    std::vector<Digest> recent_new_;  ///< of the records not yet submitted
    std::map<std::tuple<TaskKind, std::string, std::string>, Digest> bindings_;
    /// Ready, but no connected worker has the toolchain for it.
    std::map<CampaignId, std::vector<Requester>> unbound_;
    std::map<CampaignId, Sums> sums_;
    std::vector<Parked> parked_;
    std::map<schedule::ReadyTask, int> losses_;  ///< how often an input of the task was lost
    /// Good results of actions that nobody has asked for since the coordinator started; kept until somebody does.
    std::map<ActionId, std::pair<WorkerId, protocol::AttemptResult>> orphans_;
    /// Attempts that were running on a worker when it said hello, to be adopted when their actions are asked for.
    std::map<ActionId, std::pair<WorkerId, std::uint32_t>> survivors_;
    /// The last attempt of a waiting action whose worker was lost: what had been received of it still counts if the
    /// worker comes back with it.
    std::map<ActionId, Run> interrupted_;

    std::vector<storage::Record> records_;                         ///< of the event in hand: one transaction
    std::vector<std::pair<WorkerId, protocol::AttemptKey>> acks_;  ///< of the event in hand
    std::deque<std::pair<std::uint64_t, std::pair<WorkerId, protocol::AttemptKey>>> unacked_;
    Instant last_heartbeat_;
    Instant now_;      ///< of the event in hand
    Instant started_;  ///< of the first event
    bool stopping_ = false;
};

}  // namespace tunefarm::server
