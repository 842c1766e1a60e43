// SPDX-License-Identifier: MIT
// Core: from tasks that are ready to actions, attempts and their ends.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "coordinator/server/core.h"

namespace tunefarm::server {
namespace {

using nlohmann::json;
using schedule::ReadyTask;

// Builds that wait in the scheduler: enough to choose from and to bundle, few enough that ten million kernels are not
// ten million objects.
constexpr std::size_t kWindow = 1024;
constexpr std::size_t kWindowPerSlot = 16;

// Floors of the time limits: no healthy task of the kind is near them, whatever the prediction says.
Micros limit_floor(TaskKind kind) {
    switch (kind) {
        case TaskKind::kSplit: return Micros(120'000'000);
        case TaskKind::kPrepare: return Micros(1'800'000'000);
        case TaskKind::kHelper: return Micros(900'000'000);
        case TaskKind::kBuild: return Micros(300'000'000);
        case TaskKind::kFinish: return Micros(900'000'000);
        case TaskKind::kMeasure: return Micros(900'000'000);
        case TaskKind::kConclude: return Micros(900'000'000);
        case TaskKind::kNoop: return Micros(60'000'000);
    }
    return Micros(900'000'000);
}

constexpr std::int64_t kMemoryFloor = 4LL << 30;

// A straggler has run for 1.5 times its predicted 95th percentile, and never for less than the floor.
constexpr double kNormal95 = 1.645;
constexpr Micros kStragglerFloor{2'000'000};
// More than the attempts of one action that can be under way and not yet committed.
constexpr std::uint32_t kAttemptGap = 10;
// Late results of an earlier coordinator that are held until their actions are asked for.
constexpr std::size_t kMaxOrphans = 10'000;
// So long a coordinator that has nothing to do expects that somebody goes on with a campaign.
constexpr Micros kOrphanGrace{60'000'000};

ActionEnd end_of(const protocol::AttemptResult& result, bool ok) {
    ActionEnd end;
    end.ok = ok;
    end.by_input = result.outcome == Outcome::kInputFailed;
    end.message = result.message;
    end.log = result.log;
    end.result = result.result;
    end.outputs = result.outputs;
    return end;
}

}  // namespace

Core::Core(CoreOptions options, Transport& transport, Journal& journal, Memory& memory, Artifacts& artifacts,
           const storage::LastIds& last)
    : options_(std::move(options)),
      transport_(transport),
      journal_(journal),
      memory_(memory),
      artifacts_(artifacts),
      ids_{last},
      scheduler_(options_.scheduler),
      campaigns_(graph_, artifacts, memory, ids_) {}

Result<CampaignId> Core::submit(const CampaignRequest& request, const storage::OpenCampaign* resume, Instant now) {
    const CampaignId id = resume != nullptr ? resume->record.id : ids_.take(ids_.last.campaign);
    if (campaigns_.record(id) != nullptr) {
        // It had ended in this process. Steps that failed may have left work behind that still runs.
        withdraw(id, now);
        graph_.remove(id);
        campaigns_.remove(id);
    }
    sums_[id] = Sums{};
    TUNEFARM_TRY(campaigns_.add(id, request, resume, now, records_));
    pump(now);
    return id;
}

void Core::cancel(CampaignId campaign, Instant now) {
    graph_.cancel(campaign);
    withdraw(campaign, now);
    pump(now);
}

void Core::withdraw(CampaignId campaign, Instant now) {
    const auto cancelled = [&](const ReadyTask& task) {
        storage::TaskRecord record = campaigns_.task_record(task);
        record.state = "cancelled";
        records_.emplace_back(std::move(record));
    };
    for (const Requester& task : unbound_[campaign]) cancelled(task);
    unbound_.erase(campaign);
    std::erase_if(parked_, [&](const Parked& parked) {
        if (parked.task.campaign != campaign) return false;
        if (!parked.task.again) cancelled(parked.task);
        return true;
    });
    for (auto it = live_.begin(); it != live_.end();) {
        Action& action = it->second;
        const auto wanted = [&](const ReadyTask& task) { return task.campaign == campaign; };
        if (std::none_of(action.requesters.begin(), action.requesters.end(), wanted)) {
            ++it;
            continue;
        }
        for (const Requester& task : action.requesters) {
            if (!wanted(task) || task.again) continue;
            storage::TaskRecord record = campaigns_.task_record(task);
            record.action = it->first;
            record.state = "cancelled";
            records_.emplace_back(std::move(record));
        }
        std::erase_if(action.requesters, wanted);
        const auto withdrawn = scheduler_.withdraw(it->first, campaign);
        if (!withdrawn.gone) {
            ++it;
            continue;
        }
        cancel_runs(it->first, action, withdrawn.cancel, now, "the campaign was cancelled");
        const ActionId id = it->first;
        ++it;
        dissolve(id, action);
    }
}

void Core::pump(Instant now) {
    now_ = now;
    if (started_ == Instant{}) started_ = now;
    for (;;) {
        std::vector<ReadyTask> ready = graph_.take_ready();
        const std::size_t window = std::max(kWindow, kWindowPerSlot * scheduler_.total_slots());
        for (const CampaignId campaign : graph_.building()) {
            const auto unbound = unbound_.find(campaign);
            const std::size_t waiting =
                scheduler_.waiting_builds(campaign) + (unbound != unbound_.end() ? unbound->second.size() : 0);
            if (waiting >= window) continue;
            const std::vector<ReadyTask> builds = graph_.admit_builds(campaign, window - waiting);
            ready.insert(ready.end(), builds.begin(), builds.end());
        }
        if (ready.empty()) break;
        for (const ReadyTask& task : ready) request({task});
    }
    campaigns_.flush_changes(now, records_);
    for (const CampaignId ended : campaigns_.take_ended()) {
        campaigns_.note_lower_bound(ended, progress(ended).lower_bound_s, records_);
    }
    release_orphans();
    for (const auto& [host, what] : scheduler_.take_host_changes()) log::warning("host " + host + " is " + what);
    if (!stopping_) {
        std::vector<schedule::Dispatch> dispatches;
        scheduler_.decide(now, dispatches);
        for (const schedule::Dispatch& each : dispatches) dispatch(each, now);
    }
    submit_records();
}

bool Core::bind(ActionDraft& draft) {
    const auto name = std::tuple(draft.kind, draft.toolchain, draft.target);
    const auto offered = [&](const protocol::Capability& ability) {
        return ability.verb == draft.kind && ability.toolchain == draft.toolchain &&
               (ability.target == draft.target || ability.target == "*");
    };
    // A binding is kept while some worker still offers it, so that one campaign is built by one toolchain.
    const auto bound = bindings_.find(name);
    const Digest* found = nullptr;
    for (const auto& [id, peer] : peers_) {
        for (const protocol::Capability& ability : peer.hello.capabilities) {
            if (!offered(ability)) continue;
            if (bound != bindings_.end() && ability.fingerprint == bound->second) {
                draft.fingerprint = bound->second;
                return true;
            }
            if (found == nullptr) found = &ability.fingerprint;
        }
    }
    if (found == nullptr) return false;
    draft.fingerprint = bindings_[name] = *found;
    return true;
}

bool Core::answer_from_cache(const Requester& task, const Digest& key, ActionId& id, std::uint32_t& attempts) {
    ActionEnd end;
    if (const auto recent = recent_.find(key); recent != recent_.end()) {
        id = recent->second.id;
        attempts = recent->second.last_attempt;
        if (!recent->second.cacheable) return false;
        end = recent->second.end;
    } else {
        auto found = memory_.find_action(key);
        if (!found.ok()) {
            log::warning("the action cache cannot be read: " + found.error().message);
            return false;
        }
        if (!found->has_value()) return false;
        const storage::CachedAction& action = **found;
        id = action.id;
        // An earlier process may have begun attempts that it did not live to record: their numbers are not used again.
        attempts = action.last_attempt + kAttemptGap;
        if (!action.finished || !action.cacheable) return false;
        end.ok = action.outcome == Outcome::kOk;
        end.by_input = action.outcome == Outcome::kInputFailed;
        end.message = action.message;
        end.log = action.log;
        end.result = action.result;
        for (const storage::ActionOutputRecord& output : action.outputs) {
            end.outputs.push_back({output.name, output.digest, static_cast<std::uint64_t>(output.size)});
        }
    }
    std::vector<Digest> digests;
    for (const protocol::Output& output : end.outputs) digests.push_back(output.digest);
    const auto missing = artifacts_.missing(digests);
    // An artifact that is gone is made again by its action.
    if (!missing.ok() || !missing->empty()) return false;
    // The coordinator reads the step document itself: one that is rotten is as good as gone.
    if (task.kind == TaskKind::kPrepare && end.ok && !document_is_there(end)) return false;
    tell(task, id, end, true);
    return true;
}

void Core::request(const Requester& task) {
    if (!campaigns_.wants(task)) return;
    auto drafted = campaigns_.draft(task, records_);
    if (!drafted.ok()) {
        ActionEnd end;
        end.message = drafted.error().message;
        tell(task, ActionId{}, end, false);
        return;
    }
    if (!drafted->has_value()) {
        ++sums_[task.campaign].done;
        return;
    }
    ActionDraft draft = std::move(**drafted);
    if (!bind(draft)) {
        unbound_[task.campaign].push_back(task);
        return;
    }
    Digest key = action_key(draft);
    if (!draft.cacheable) {
        // A measurement is a fact of its campaign: nobody shares it.
        Hasher hasher;
        hasher.add_field(key.hex()).add_field(std::to_string(task.step.value()));
        key = hasher.add_field(std::to_string(task.index)).finish();
    }
    const schedule::Request wish{task.campaign, campaigns_.priority(task.campaign), graph_.rank(task.step), task.step};
    if (const auto same = live_by_key_.find(key); same != live_by_key_.end()) {
        Action& action = live_.at(same->second);
        action.requesters.push_back(task);
        scheduler_.add(scheduled(same->second, action), wish);
        return;
    }
    ActionId id;
    std::uint32_t attempts = 0;
    if (answer_from_cache(task, key, id, attempts)) return;
    if (!id.valid()) id = ids_.take(ids_.last.action);

    Action action;
    action.key = key;
    action.cls = scheduler_.intern({draft.kind, draft.toolchain, draft.target, draft.fingerprint});
    action.prediction = predictor_.predict(action.cls, draft.kind, draft.cost);
    action.draft = std::move(draft);
    action.requesters.push_back(task);
    // The task's row stays "waiting" until the dispatch: between the two only this process knows better.
    record_action(id, action, nullptr, Outcome::kOk, false);
    scheduler_.add(scheduled(id, action), wish, attempts);
    live_by_key_[key] = id;
    action.last_attempt = attempts;
    Action& added = live_.emplace(id, std::move(action)).first->second;
    adopt(id, added);
}

schedule::ActionSpec Core::scheduled(ActionId id, const Action& action) const {
    schedule::ActionSpec spec{id, action.cls, action.prediction.median, action.prediction.memory, Micros{0}};
    const bool copies = action.draft.kind != TaskKind::kMeasure && action.prediction.known;
    if (copies) {
        const double p95 = static_cast<double>(action.prediction.median.count()) *
                           std::exp(kNormal95 * std::min(action.prediction.spread, 2.0));
        spec.straggler_after = std::max(kStragglerFloor, Micros(static_cast<std::int64_t>(1.5 * p95)));
    }
    return spec;
}

void Core::adopt(ActionId id, Action& action) {
    if (const auto orphan = orphans_.find(id); orphan != orphans_.end()) {
        const auto [worker, result] = std::move(orphan->second);
        orphans_.erase(orphan);
        const auto peer = peers_.find(worker);
        if (peer == peers_.end()) return;
        // A measurement that ended before anybody asked for it has lost its rows: it is made again.
        if (action.draft.kind == TaskKind::kMeasure) {
            send(peer->second, protocol::Ack{{result.key}, true});
        } else {
            complete_late(peer->second, action, result);
        }
        return;
    }
    const auto survivor = survivors_.find(id);
    if (survivor == survivors_.end()) return;
    const auto [worker, attempt] = survivor->second;
    survivors_.erase(survivor);
    // A measurement that began under another coordinator has lost rows: it is made again.
    if (action.draft.kind == TaskKind::kMeasure) {
        send(peers_.at(worker), protocol::Cancel{{{id, attempt}}, "it is measured again"});
        return;
    }
    if (!scheduler_.adopt(worker, id, attempt, -1, now_)) return;
    action.runs.push_back({worker, attempt, now_, 0, -1});
    action.last_attempt = std::max(action.last_attempt, attempt);
}

void Core::dispatch(const schedule::Dispatch& each, Instant now) {
    Peer& peer = peers_.at(each.worker);
    const schedule::ClassSpec& cls = scheduler_.spec(each.cls);
    protocol::Assign assign;
    assign.kind = cls.kind;
    assign.toolchain = cls.toolchain;
    assign.target = cls.target;
    Micros limit{0};
    std::int64_t memory = kMemoryFloor;
    for (const schedule::Dispatch::Item& item : each.items) {
        Action& action = live_.at(item.action);
        action.runs.push_back({each.worker, item.attempt, now, 0, each.device});
        interrupted_.erase(item.action);
        action.last_attempt = std::max(action.last_attempt, item.attempt);
        assign.items.push_back({{item.action, item.attempt}, action.draft.args});
        if (assign.inputs.empty()) assign.inputs = action.draft.inputs;
        limit += action.prediction.limit(limit_floor(cls.kind));
        memory = std::max(memory, 4 * action.prediction.memory.count);
        records_.emplace_back(attempt_record(item.action, action.runs.back()));
        for (const Requester& task : action.requesters) {
            if (task.again) continue;
            storage::TaskRecord record = campaigns_.task_record(task);
            record.action = item.action;
            record.state = "running";
            records_.emplace_back(std::move(record));
        }
        if (each.device < 0) continue;
        const protocol::Device& device = peer.hello.devices[static_cast<std::size_t>(each.device)];
        assign.device = device.id;
        const ReadyTask& task = action.requesters.front();
        campaigns_.begin_measure(task.step, task.index, item.attempt, peer.hello.host + "/" + device.id,
                                 device.simulated);
    }
    assign.time_limit = limit;
    assign.memory_limit = Bytes{std::min(memory, std::max(peer.hello.memory.count, kMemoryFloor))};
    if (!send(peer, assign)) log::warning("worker " + peer.hello.host + " cannot be reached");
}

std::optional<Core::Run> Core::take_run(Action& action, WorkerId worker, std::uint32_t attempt) {
    for (auto it = action.runs.begin(); it != action.runs.end(); ++it) {
        if (it->worker != worker || it->attempt != attempt) continue;
        const Run run = *it;
        action.runs.erase(it);
        return run;
    }
    return std::nullopt;
}

void Core::cancel_runs(ActionId id, Action& action, const std::vector<schedule::Running>& runs, Instant now,
                       const std::string& reason) {
    for (const schedule::Running& running : runs) {
        const auto run = take_run(action, running.worker, running.attempt);
        if (!run) continue;
        storage::AttemptRecord record = attempt_record(id, *run);
        record.ended = now;
        record.outcome = Outcome::kCancelled;
        record.message = reason;
        records_.emplace_back(std::move(record));
        send(peers_.at(running.worker), protocol::Cancel{{{id, running.attempt}}, reason});
    }
}

void Core::end_run(ActionId id, const Run& run, const protocol::AttemptResult& result) {
    storage::AttemptRecord record = attempt_record(id, run);
    record.started = run.sent + result.timings.started;
    record.ended = run.sent + result.timings.ended;
    record.outcome = result.outcome;
    record.cpu = result.timings.cpu;
    record.peak_memory = result.timings.peak_memory;
    record.phases = "{}";
    if (!result.timings.phases.empty()) {
        json phases = json::object();
        for (const protocol::Phase& phase : result.timings.phases) phases[phase.name] = phase.duration.count();
        record.phases = phases.dump(-1, ' ', false, json::error_handler_t::replace);
    }
    record.message = result.message;
    record.log = result.log;
    records_.emplace_back(std::move(record));
}

void Core::on(Peer& peer, const protocol::AttemptResult& received, Instant now) {
    const protocol::AttemptKey key = received.key;
    const auto it = live_.find(key.action);
    const auto run = it != live_.end() ? take_run(it->second, peer.id, key.attempt) : std::nullopt;
    if (!run) {
        late_result(peer, received);
        return;
    }
    Action& action = it->second;
    protocol::AttemptResult result = received;
    if (action.draft.kind == TaskKind::kMeasure && result.outcome == Outcome::kOk && result.row_count != run->rows) {
        // Rows are the measurement: without all of them it has not been made.
        result.outcome = Outcome::kLost;
        result.message = std::to_string(run->rows) + " of " + std::to_string(result.row_count) + " rows arrived";
    }
    const bool lost = result.outcome == Outcome::kLost;
    const std::vector<Digest> lost_inputs = lost ? this->lost_inputs(action) : std::vector<Digest>{};
    // What the worker could not get though it is there counts as its failure: it must not be tried for ever.
    const Outcome counted = lost && lost_inputs.empty() ? Outcome::kCrashed : result.outcome;
    const Micros duration = result.timings.ended - result.timings.started;
    const schedule::Ending ending = scheduler_.attempt_ended(key.action, key.attempt, counted, duration, now);
    end_run(key.action, *run, result);
    acks_.emplace_back(peer.id, key);
    if (!lost_inputs.empty() && ending.verdict == schedule::Verdict::kRetry) {
        make_inputs_again(key.action, action, lost_inputs);
        return;
    }
    // Shared work counts for the first of its campaigns only, as in the timings.
    Sums& sums = sums_[action.requesters.front().campaign];
    sums.busy[static_cast<std::size_t>(action.draft.kind)] += duration;
    ++sums.executed[static_cast<std::size_t>(action.draft.kind)];
    if (ending.verdict == schedule::Verdict::kRetry || ending.verdict == schedule::Verdict::kBackup) {
        log::debug(action.draft.description + ": " + to_string(result.outcome) + ": " + result.message);
        return;
    }
    cancel_runs(key.action, action, ending.cancel, now, "another attempt ended first");
    if (result.outcome == Outcome::kOk) {
        predictor_.observe(action.cls, action.draft.kind, action.draft.cost, duration, result.timings.peak_memory);
        scheduler_.class_memory(action.cls, predictor_.predict(action.cls, action.draft.kind, 1).memory);
    }
    finish(key.action, action, result.outcome, end_of(result, ending.verdict == schedule::Verdict::kDone));
}

void Core::late_result(Peer& peer, const protocol::AttemptResult& result) {
    const auto it = live_.find(result.key.action);
    const bool good = result.outcome == Outcome::kOk;
    if (it != live_.end() && good && it->second.draft.kind != TaskKind::kMeasure) {
        // Deterministic work: whichever attempt made it, the result is the action's.
        complete_late(peer, it->second, result);
        return;
    }
    if (it == live_.end() && good && orphans_.size() < kMaxOrphans && !recently_finished(result.key.action)) {
        orphans_[result.key.action] = {peer.id, result};
        return;
    }
    send(peer, protocol::Ack{{result.key}, true});
}

void Core::complete_late(const Peer& peer, Action& action, const protocol::AttemptResult& result) {
    const ActionId id = result.key.action;
    cancel_runs(id, action, scheduler_.complete(id), now_, "a late result was adopted");
    end_run(id, Run{peer.id, result.key.attempt, now_ - result.timings.ended, 0}, result);
    acks_.emplace_back(peer.id, result.key);
    finish(id, action, result.outcome, end_of(result, true));
}

void Core::release_orphans() {
    if (orphans_.empty() || (sums_.empty() && now_ - started_ < kOrphanGrace)) return;
    const bool open = std::any_of(sums_.begin(), sums_.end(), [&](const auto& entry) {
        return graph_.state(entry.first) <= schedule::CampaignState::kRunning;
    });
    if (open) return;
    for (const auto& [id, orphan] : std::exchange(orphans_, {})) {
        const auto peer = peers_.find(orphan.first);
        if (peer != peers_.end()) send(peer->second, protocol::Ack{{orphan.second.key}, true});
    }
}

bool Core::recently_finished(ActionId id) const {
    return std::any_of(recent_.begin(), recent_.end(),
                       [&](const auto& entry) { return entry.second.finished && entry.second.id == id; });
}

std::vector<Core::Requester> Core::dissolve(ActionId id, Action& action) {
    std::vector<Requester> requesters = std::move(action.requesters);
    recent_[action.key] = Recent{id, action.last_attempt, false, false, {}};
    recent_new_.push_back(action.key);
    live_by_key_.erase(action.key);
    interrupted_.erase(id);
    live_.erase(id);
    return requesters;
}

void Core::finish(ActionId id, Action& action, Outcome outcome, const ActionEnd& end) {
    if (end.ok && action.draft.kind == TaskKind::kPrepare && !document_is_there(end)) {
        for (const Requester& task : dissolve(id, action)) {
            if (may_try_again(task)) request(task);
        }
        return;
    }
    const bool cacheable = action.draft.cacheable && (outcome == Outcome::kOk || outcome == Outcome::kInputFailed);
    record_action(id, action, &end, outcome, cacheable);
    for (const protocol::Output& output : end.outputs) {
        records_.emplace_back(
            storage::ActionOutputRecord{id, output.name, output.digest, static_cast<std::int64_t>(output.size)});
    }
    const std::vector<Requester> requesters = std::move(action.requesters);
    recent_[action.key] = Recent{id, action.last_attempt, true, cacheable, end};
    recent_new_.push_back(action.key);
    live_by_key_.erase(action.key);
    interrupted_.erase(id);
    live_.erase(id);
    // Another step's request that joined a running action did not execute it: for that step it came from the cache.
    bool first = true;
    for (const Requester& task : requesters) tell(task, id, end, !std::exchange(first, false));
}

void Core::tell(const Requester& task, ActionId id, const ActionEnd& end, bool cached) {
    if (task.again) {
        made_again(task, end);
        return;
    }
    storage::TaskRecord record = campaigns_.task_record(task);
    record.action = id;
    record.state = end.ok ? "done" : "failed";
    // A resumed campaign's own work stays "executed", though its outcome is found in the cache now.
    record.cached = cached && !campaigns_.executed_before(task);
    records_.emplace_back(std::move(record));
    Sums& sums = sums_[task.campaign];
    ++(end.ok ? sums.done : sums.failed);
    campaigns_.ended(task, end, records_);
}

void Core::record_action(ActionId id, const Action& action, const ActionEnd* end, Outcome outcome, bool cacheable) {
    storage::ActionRecord record;
    record.id = id;
    record.key = action.key;
    record.kind = action.draft.kind;
    record.toolchain = action.draft.toolchain;
    record.target = action.draft.target;
    record.fingerprint = action.draft.fingerprint;
    record.description = action.draft.description;
    if (end != nullptr) {
        record.finished = true;
        record.outcome = outcome;
        record.cacheable = cacheable;
        record.message = end->message;
        record.result = end->result;
    }
    records_.emplace_back(std::move(record));
}

storage::AttemptRecord Core::attempt_record(ActionId id, const Run& run) const {
    storage::AttemptRecord record;
    record.action = id;
    record.attempt = run.attempt;
    record.worker = run.worker;
    record.queued = run.sent;
    record.phases = "{}";
    return record;
}

void Core::submit_records() {
    if (records_.empty()) return;
    constexpr std::size_t kUsual = 12;  // what one result and the bundle that follows it make
    const std::uint64_t ticket = journal_.submit(std::exchange(records_, {}));
    records_.reserve(kUsual);
    for (const Digest& key : std::exchange(recent_new_, {})) recent_tickets_.emplace_back(ticket, key);
    for (const auto& ack : std::exchange(acks_, {})) unacked_.emplace_back(ticket, ack);
}

void Core::committed() {
    const std::uint64_t ticket = journal_.committed();
    std::map<WorkerId, protocol::Ack> acks;
    while (!unacked_.empty() && unacked_.front().first <= ticket) {
        const auto& [worker, key] = unacked_.front().second;
        acks[worker].keys.push_back(key);
        unacked_.pop_front();
    }
    while (!recent_tickets_.empty() && recent_tickets_.front().first <= ticket) {
        recent_.erase(recent_tickets_.front().second);
        recent_tickets_.pop_front();
    }
    for (const auto& [worker, ack] : acks) {
        const auto peer = peers_.find(worker);
        if (peer != peers_.end()) send(peer->second, ack);
    }
}

Progress Core::progress(CampaignId id) const {
    Progress out;
    const auto found = sums_.find(id);
    if (found == sums_.end()) return out;
    const Sums& sums = found->second;
    out.done = sums.done;
    out.failed = sums.failed;
    for (const auto& [action_id, action] : live_) {
        if (!action.runs.empty() && action.requesters.front().campaign == id) ++out.running;
    }
    const auto open = graph_.open_tasks(id);
    double cpu_done = 0;
    double cpu_left = 0;
    double device_done = 0;
    double device_left = 0;
    bool known = true;
    for (std::size_t kind = 0; kind < open.size(); ++kind) {
        out.left += open[kind];
        const double busy = static_cast<double>(sums.busy[kind].count()) * 1e-6;
        const double each = sums.executed[kind] > 0 ? busy / static_cast<double>(sums.executed[kind]) : 0.0;
        known = known && (open[kind] == 0 || sums.executed[kind] > 0);
        const bool device = static_cast<TaskKind>(kind) == TaskKind::kMeasure;
        (device ? device_done : cpu_done) += busy;
        (device ? device_left : cpu_left) += each * static_cast<double>(open[kind]);
    }
    double devices = 0;
    bool alone = false;
    for (const auto& [peer_id, peer] : peers_) {
        devices += static_cast<double>(peer.hello.devices.size());
        for (const protocol::Device& device : peer.hello.devices) alone = alone || device.slots >= peer.hello.slots;
    }
    const double slots = std::max(1.0, static_cast<double>(scheduler_.total_slots()));
    devices = std::max(1.0, devices);
    const auto together = [&](double cpu, double device) {
        return alone ? cpu / slots + device / devices : std::max(cpu / slots, device / devices);
    };
    // A kind that has never been executed could last for ever: no forecast until each that is left has been.
    if (!known) return out;
    out.lower_bound_s = together(cpu_done + cpu_left, device_done + device_left);
    out.left_s = together(cpu_left, device_left);
    return out;
}

}  // namespace tunefarm::server
