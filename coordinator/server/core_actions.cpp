// SPDX-License-Identifier: MIT
// Core: from tasks that are ready to actions, attempts and their ends.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "coordinator/server/core.h"

namespace tunefarm::server {
namespace {

using nlohmann::json;
using schedule::ReadyTask;

// Builds that wait in the scheduler: enough to choose from and to bundle, few enough that ten million kernels are not
// ten million objects.
constexpr std::size_t kWindow = 256;
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
    sums_[id] = Sums{};
    TUNEFARM_TRY(campaigns_.add(id, request, resume, now, records_));
    pump(now);
    return id;
}

void Core::cancel(CampaignId campaign, Instant now) {
    graph_.cancel(campaign);
    std::erase_if(unbound_, [&](const ReadyTask& task) { return task.campaign == campaign; });
    std::map<WorkerId, protocol::Cancel> cancels;
    for (auto it = live_.begin(); it != live_.end();) {
        Action& action = it->second;
        const auto wanted = [&](const ReadyTask& task) { return task.campaign == campaign; };
        if (std::none_of(action.requesters.begin(), action.requesters.end(), wanted)) {
            ++it;
            continue;
        }
        for (const ReadyTask& task : action.requesters) {
            if (!wanted(task)) continue;
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
        if (withdrawn.worker.valid()) {
            cancels[withdrawn.worker].keys.push_back({it->first, withdrawn.attempt});
            storage::AttemptRecord record = attempt_record(it->first, action);
            record.ended = now;
            record.outcome = Outcome::kCancelled;
            records_.emplace_back(std::move(record));
        }
        live_by_key_.erase(action.key);
        it = live_.erase(it);
    }
    for (auto& [worker, cancel] : cancels) {
        cancel.reason = "the campaign was cancelled";
        transport_.send(peers_.at(worker).peer, cancel);
    }
    pump(now);
}

void Core::pump(Instant now) {
    for (;;) {
        std::vector<ReadyTask> ready = graph_.take_ready();
        const std::size_t window = std::max(kWindow, kWindowPerSlot * scheduler_.total_slots());
        const std::size_t waiting = scheduler_.waiting(TaskKind::kBuild) + unbound_.size();
        if (waiting < window) {
            const std::vector<ReadyTask> builds = graph_.admit_builds(window - waiting);
            ready.insert(ready.end(), builds.begin(), builds.end());
        }
        if (ready.empty()) break;
        for (const ReadyTask& task : ready) request(task);
    }
    campaigns_.flush_changes(now, records_);
    if (!stopping_) {
        std::vector<schedule::Dispatch> dispatches;
        scheduler_.decide(dispatches);
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

bool Core::answer_from_cache(const ReadyTask& task, const Digest& key, ActionId& id, std::uint32_t& attempts) {
    ActionEnd end;
    if (const auto recent = recent_.find(key); recent != recent_.end()) {
        id = recent->second.id;
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
        attempts = action.last_attempt;
        if (!action.finished || !action.cacheable) return false;
        end.ok = action.outcome == Outcome::kOk;
        end.message = action.message;
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
    tell(task, id, end, true);
    return true;
}

void Core::request(const ReadyTask& task) {
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
        unbound_.push_back(task);
        return;
    }
    Digest key = action_key(draft);
    if (!draft.cacheable) {
        // A measurement is a fact of its campaign: nobody shares it.
        Hasher hasher;
        hasher.add_field(key.hex()).add_field(std::to_string(task.step.value()));
        key = hasher.add_field(std::to_string(task.index)).finish();
    }
    if (const auto same = live_by_key_.find(key); same != live_by_key_.end()) {
        Action& action = live_.at(same->second);
        action.requesters.push_back(task);
        scheduler_.add({same->second, action.cls, action.prediction.median, action.prediction.memory},
                       {task.campaign, 0, graph_.rank(task.step)});
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
    action.attempt = attempts;
    action.draft = std::move(draft);
    action.requesters.push_back(task);
    record_action(id, action, nullptr, Outcome::kOk, false);
    storage::TaskRecord record = campaigns_.task_record(task);
    record.action = id;
    record.state = "ready";
    records_.emplace_back(std::move(record));
    scheduler_.add({id, action.cls, action.prediction.median, action.prediction.memory},
                   {task.campaign, 0, graph_.rank(task.step)}, attempts);
    live_by_key_[key] = id;
    live_.emplace(id, std::move(action));
}

void Core::dispatch(const schedule::Dispatch& each, Instant now) {
    const Peer& peer = peers_.at(each.worker);
    const schedule::ClassSpec& cls = scheduler_.spec(each.cls);
    protocol::Assign assign;
    assign.kind = cls.kind;
    assign.toolchain = cls.toolchain;
    assign.target = cls.target;
    Micros limit{0};
    std::int64_t memory = kMemoryFloor;
    for (const schedule::Dispatch::Item& item : each.items) {
        Action& action = live_.at(item.action);
        action.attempt = item.attempt;
        action.worker = each.worker;
        action.sent = now;
        action.rows = 0;
        assign.items.push_back({{item.action, item.attempt}, action.draft.args});
        if (assign.inputs.empty()) assign.inputs = action.draft.inputs;
        limit += action.prediction.limit(limit_floor(cls.kind));
        memory = std::max(memory, 4 * action.prediction.memory.count);
        records_.emplace_back(attempt_record(item.action, action));
        for (const ReadyTask& task : action.requesters) {
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
    if (!transport_.send(peer.peer, assign)) log::warning("worker " + peer.hello.host + " cannot be reached");
}

void Core::on(Peer& peer, const protocol::AttemptResult& result) {
    const protocol::AttemptKey key = result.key;
    const auto it = live_.find(key.action);
    const bool live = it != live_.end() && it->second.worker == peer.id && it->second.attempt == key.attempt;
    const Micros duration = result.timings.ended - result.timings.started;
    const schedule::Verdict verdict =
        live ? scheduler_.attempt_ended(key.action, key.attempt, result.outcome, duration) : schedule::Verdict::kStale;
    if (verdict == schedule::Verdict::kStale) {
        transport_.send(peer.peer, protocol::Ack{{key}, true});
        return;
    }
    Action& action = it->second;
    storage::AttemptRecord record = attempt_record(key.action, action);
    record.started = action.sent + result.timings.started;
    record.ended = action.sent + result.timings.ended;
    record.outcome = result.outcome;
    record.cpu = result.timings.cpu;
    record.peak_memory = result.timings.peak_memory;
    json phases = json::object();
    for (const protocol::Phase& phase : result.timings.phases) phases[phase.name] = phase.duration.count();
    record.phases = phases.dump(-1, ' ', false, json::error_handler_t::replace);
    record.message = result.message;
    record.log = result.log;
    records_.emplace_back(std::move(record));
    acks_.emplace_back(peer.id, key);
    action.worker = WorkerId{};
    const auto kind = static_cast<std::size_t>(action.draft.kind);
    for (const ReadyTask& task : action.requesters) {
        // Shared work counts for the first of its campaigns only, as in the timings.
        if (&task != &action.requesters.front()) continue;
        sums_[task.campaign].busy[kind] += duration;
        ++sums_[task.campaign].executed[kind];
    }
    if (verdict == schedule::Verdict::kRetry) {
        log::debug(action.draft.description + ": " + to_string(result.outcome) + ": " + result.message);
        return;
    }
    if (result.outcome == Outcome::kOk) {
        predictor_.observe(action.cls, action.draft.kind, action.draft.cost, duration, result.timings.peak_memory);
    }
    ActionEnd end;
    end.ok = verdict == schedule::Verdict::kDone;
    end.message = result.message;
    end.log = result.log;
    end.result = result.result;
    end.outputs = result.outputs;
    end.duration = duration;
    finish(key.action, action, result.outcome, std::move(end));
}

void Core::finish(ActionId id, Action& action, Outcome outcome, ActionEnd end) {
    const bool cacheable = action.draft.cacheable && (outcome == Outcome::kOk || outcome == Outcome::kInputFailed);
    record_action(id, action, &end, outcome, cacheable);
    for (const protocol::Output& output : end.outputs) {
        records_.emplace_back(
            storage::ActionOutputRecord{id, output.name, output.digest, static_cast<std::int64_t>(output.size)});
    }
    const std::vector<ReadyTask> requesters = std::move(action.requesters);
    recent_[action.key] = Recent{id, end, cacheable};
    recent_new_.push_back(action.key);
    live_by_key_.erase(action.key);
    live_.erase(id);
    // Another step's request that joined a running action did not execute it: for that step it came from the cache.
    bool first = true;
    for (const ReadyTask& task : requesters) tell(task, id, end, !std::exchange(first, false));
}

void Core::tell(const ReadyTask& task, ActionId id, const ActionEnd& end, bool cached) {
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

storage::AttemptRecord Core::attempt_record(ActionId id, const Action& action) const {
    storage::AttemptRecord record;
    record.action = id;
    record.attempt = action.attempt;
    record.worker = action.worker;
    record.queued = action.sent;
    record.phases = "{}";
    return record;
}

void Core::submit_records() {
    if (records_.empty()) return;
    const std::uint64_t ticket = journal_.submit(std::exchange(records_, {}));
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
        if (peer != peers_.end()) transport_.send(peer->second.peer, ack);
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
        if (action.worker.valid() && action.requesters.front().campaign == id) ++out.running;
    }
    const auto open = graph_.open_tasks(id);
    double cpu_done = 0;
    double cpu_left = 0;
    double device_done = 0;
    double device_left = 0;
    for (std::size_t kind = 0; kind < open.size(); ++kind) {
        out.left += open[kind];
        const double busy = static_cast<double>(sums.busy[kind].count()) * 1e-6;
        const double each = sums.executed[kind] > 0 ? busy / static_cast<double>(sums.executed[kind]) : 0.0;
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
    out.lower_bound_s = together(cpu_done + cpu_left, device_done + device_left);
    out.left_s = together(cpu_left, device_left);
    return out;
}

}  // namespace tunefarm::server
