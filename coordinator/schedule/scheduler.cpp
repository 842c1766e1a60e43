// SPDX-License-Identifier: MIT
// Scheduler: what it knows and how events change it. The choices are in scheduler_decide.cpp.
#include "coordinator/schedule/scheduler.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/target.h"

namespace tunefarm::schedule {
namespace {

bool same_work(const ClassSpec& ability, const ClassSpec& wanted) {
    return ability.kind == wanted.kind && ability.toolchain == wanted.toolchain &&
           (ability.target == wanted.target || ability.target == "*") && ability.fingerprint == wanted.fingerprint;
}

void insert_sorted(std::vector<ActionId>& list, ActionId id) {
    const auto at = std::lower_bound(list.begin(), list.end(), id);
    if (at == list.end() || *at != id) list.insert(at, id);
}

void erase_sorted(std::vector<ActionId>& list, ActionId id) {
    const auto at = std::lower_bound(list.begin(), list.end(), id);
    if (at != list.end() && *at == id) list.erase(at);
}

}  // namespace

ClassId Scheduler::intern(const ClassSpec& spec) {
    if (const auto it = class_ids_.find(spec); it != class_ids_.end()) return it->second;
    classes_.push_back(Class{spec, {}, 0, {}});
    const ClassId id(static_cast<std::int64_t>(classes_.size()));
    class_ids_.emplace(spec, id);
    for (Pool& pool : pools_) pool.can.push_back(pool_can(pool, spec));
    return id;
}

bool Scheduler::pool_can(const Pool& pool, const ClassSpec& spec) const {
    const bool able = std::any_of(pool.abilities.begin(), pool.abilities.end(),
                                  [&](const ClassSpec& ability) { return same_work(ability, spec); });
    if (!able || spec.kind != TaskKind::kMeasure) return able;
    return std::any_of(pool.devices.begin(), pool.devices.end(),
                       [&](const DeviceSpec& device) { return runs_on(device.target, spec.target); });
}

void Scheduler::worker_joined(WorkerId id, WorkerSpec spec) {
    std::sort(spec.abilities.begin(), spec.abilities.end());
    std::size_t pool = 0;
    while (pool < pools_.size() && (pools_[pool].abilities != spec.abilities || pools_[pool].devices != spec.devices)) {
        ++pool;
    }
    if (pool == pools_.size()) {
        Pool made;
        made.abilities = spec.abilities;
        made.devices = spec.devices;
        for (const Class& cls : classes_) made.can.push_back(pool_can(made, cls.spec));
        pools_.push_back(std::move(made));
    }
    ++pools_[pool].workers;
    Worker worker;
    worker.pool = static_cast<std::int32_t>(pool);
    worker.device_busy.resize(spec.devices.size());
    worker.alone = std::any_of(spec.devices.begin(), spec.devices.end(), [&](const DeviceSpec& device) {
        return device.slots > 0 && device.slots >= spec.slots;
    });
    worker.health = health_.state(spec.host);
    departed_.erase(spec.host);
    worker.spec = std::move(spec);
    total_slots_ += worker.spec.slots;
    Worker& stored = workers_.emplace(id, std::move(worker)).first->second;
    reopen(id, stored, 0);
}

void Scheduler::worker_limits(WorkerId id, std::uint32_t slots, Bytes memory) {
    const auto it = workers_.find(id);
    if (it == workers_.end()) return;
    total_slots_ = total_slots_ - it->second.spec.slots + slots;
    it->second.spec.slots = slots;
    it->second.spec.memory = memory;
    reopen(id, it->second, it->second.used);
}

std::vector<Scheduler::Lost> Scheduler::worker_lost(WorkerId id, bool died, Instant now) {
    const auto it = workers_.find(id);
    if (it == workers_.end()) return {};
    std::vector<Lost> back;
    if (died) departed_[it->second.spec.host] = {it->second.pool, now};
    const std::vector<ActionId> running = it->second.running;
    for (const ActionId action_id : running) {
        Action& action = actions_.at(action_id.value());
        for (std::size_t i = action.runs.size(); i-- > 0;) {
            if (action.runs[i].worker == id) release(action, i);
        }
        if (died) ++action.losses;
        const bool failed = action.losses >= options_.max_losses && action.runs.empty();
        if (failed) {
            remove(action);
        } else if (action.runs.empty()) {
            enqueue(action);
        }
        back.push_back({action_id, failed});
    }
    Pool& pool = pools_[static_cast<std::size_t>(it->second.pool)];
    pool.open.erase({it->second.used, id});
    pool.open_devices.erase({it->second.used, id});
    --pool.workers;
    total_slots_ -= it->second.spec.slots;
    health_.lost(it->second.spec.host);
    workers_.erase(it);
    return back;
}

bool Scheduler::adopt(WorkerId worker_id, ActionId action_id, std::uint32_t attempt, std::int32_t device, Instant now) {
    const auto worker = workers_.find(worker_id);
    const auto it = actions_.find(action_id.value());
    if (worker == workers_.end() || it == actions_.end() || !it->second.runs.empty()) return false;
    Action& action = it->second;
    if (device >= 0 && worker->second.device_busy.at(static_cast<std::size_t>(device))) return false;
    dequeue(action);
    // The next attempt must be a new one, also where later ones than this have been begun and lost.
    const std::uint32_t begun = action.attempts;
    action.attempts = attempt - 1;
    start(action, worker_id, worker->second, device, 0, now);
    action.attempts = std::max(begun, attempt);
    // It had not died after all.
    if (action.losses > 0) --action.losses;
    return true;
}

void Scheduler::add(const ActionSpec& spec, const Request& request, std::uint32_t attempts_so_far) {
    Campaign& campaign = campaigns_[request.campaign];
    campaign.priority = request.priority;
    if (campaign.waiting == 0) {
        // A campaign that was idle does not get back the time it did not use.
        double least = -1;
        for (const auto& [id, other] : campaigns_) {
            if (other.waiting > 0 && (least < 0 || other.used < least)) least = other.used;
        }
        campaign.used = std::max(campaign.used, least);
    }
    auto [it, added] = actions_.try_emplace(spec.id.value());
    Action& action = it->second;
    if (added) {
        action.spec = spec;
        action.attempts = attempts_so_far;
    }
    const bool waiting = action.runs.empty();
    if (!added && waiting) dequeue(action);
    const auto same = std::find_if(action.requests.begin(), action.requests.end(),
                                   [&](const Request& r) { return r.campaign == request.campaign; });
    if (same == action.requests.end()) {
        action.requests.push_back(request);
    } else {
        same->priority = std::max(same->priority, request.priority);
        if (std::pair(request.rank, request.step) < std::pair(same->rank, same->step)) {
            same->rank = request.rank;
            same->step = request.step;
        }
    }
    if (waiting) enqueue(action);
}

Scheduler::Withdrawn Scheduler::withdraw(ActionId id, CampaignId campaign) {
    Withdrawn out;
    const auto it = actions_.find(id.value());
    if (it == actions_.end()) return out;
    Action& action = it->second;
    const bool waiting = action.runs.empty();
    if (waiting) dequeue(action);
    std::erase_if(action.requests, [&](const Request& r) { return r.campaign == campaign; });
    if (!action.requests.empty()) {
        if (waiting) enqueue(action);
        return out;
    }
    out.gone = true;
    out.cancel = remove(action);
    return out;
}

std::vector<Running> Scheduler::remove(Action& action) {
    std::vector<Running> live;
    while (!action.runs.empty()) {
        live.push_back({action.runs.back().worker, action.runs.back().attempt});
        release(action, action.runs.size() - 1);
    }
    actions_.erase(action.spec.id.value());
    return live;
}

std::vector<Running> Scheduler::complete(ActionId id) {
    const auto it = actions_.find(id.value());
    if (it == actions_.end()) return {};
    if (it->second.runs.empty()) dequeue(it->second);
    return remove(it->second);
}

void Scheduler::judge(const Action& action, const std::string& host, Outcome outcome, Instant now) {
    if (outcome == Outcome::kOk) {
        for (const std::string& other : action.failed_on) {
            if (other != host) health_.strike(other, now);
        }
        health_.succeeded(host);
    } else {
        health_.failed(host, now);
    }
    update_health();
}

void Scheduler::update_health() {
    if (health_version_ == health_.version()) return;
    health_version_ = health_.version();
    for (auto& [id, worker] : workers_) {
        const HostState state = health_.state(worker.spec.host);
        if (state == worker.health) continue;
        worker.health = state;
        reopen(id, worker, worker.used);
    }
}

Ending Scheduler::attempt_ended(ActionId id, std::uint32_t attempt, Outcome outcome, Micros took, Instant now) {
    Ending ending;
    const auto it = actions_.find(id.value());
    if (it == actions_.end()) return ending;
    Action& action = it->second;
    const auto run =
        std::find_if(action.runs.begin(), action.runs.end(), [&](const Run& r) { return r.attempt == attempt; });
    if (run == action.runs.end()) return ending;
    const WorkerId worker = run->worker;
    const std::string& host = workers_.at(worker).spec.host;
    release(action, static_cast<std::size_t>(run - action.runs.begin()));
    charge(action, took - action.spec.predicted);
    const bool failed = outcome == Outcome::kInputFailed || outcome == Outcome::kCrashed ||
                        outcome == Outcome::kTimedOut || outcome == Outcome::kOutOfMemory;
    if (failed && std::count(action.failed_on.begin(), action.failed_on.end(), host) == 0) {
        action.failed_on.push_back(host);
    }
    if (failed || outcome == Outcome::kOk) judge(action, host, outcome, now);
    bool over = false;
    switch (outcome) {
        case Outcome::kOk: over = true; break;
        case Outcome::kInputFailed: over = ++action.diagnostics >= options_.confirmations; break;
        case Outcome::kCrashed:
        case Outcome::kTimedOut:
        case Outcome::kOutOfMemory: over = ++action.crashes >= options_.max_attempts; break;
        case Outcome::kUnsupported: {
            action.excluded.push_back(worker);
            over = std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
                return pools_[static_cast<std::size_t>(entry.second.pool)].can[index(action.spec.cls)] &&
                       std::count(action.excluded.begin(), action.excluded.end(), entry.first) == 0;
            });
            break;
        }
        case Outcome::kCancelled:
        case Outcome::kNoSpace:
        case Outcome::kLost: break;
    }
    if (!over) {
        ending.verdict = action.runs.empty() ? Verdict::kRetry : Verdict::kBackup;
        if (action.runs.empty()) enqueue(action);
        return ending;
    }
    ending.verdict = outcome == Outcome::kOk ? Verdict::kDone : Verdict::kFailed;
    ending.cancel = remove(action);
    return ending;
}

void Scheduler::enqueue(Action& action) {
    // The best request decides: highest priority, then the campaign that has used least, then the lowest rank.
    const Request* best = &action.requests.front();
    std::pair first(best->rank, best->step);
    for (const Request& request : action.requests) {
        const auto order = [&](const Request& r) {
            return std::tuple(-r.priority, campaigns_.at(r.campaign).used, r.rank, r.campaign);
        };
        if (order(request) < order(*best)) best = &request;
        first = std::min(first, std::pair(request.rank, request.step));
    }
    Class& cls = classes_[index(action.spec.cls)];
    action.key = QueueKey{first.first, first.second, cls.spec.kind != TaskKind::kHelper, -action.spec.predicted.count(),
                          action.spec.id};
    action.queued_under = best->campaign;
    cls.queues[best->campaign].insert(action.key);
    ++cls.waiting;
    Campaign& campaign = campaigns_[best->campaign];
    ++campaign.waiting;
    if (cls.spec.kind == TaskKind::kBuild) ++campaign.waiting_builds;
    ++waiting_by_kind_[static_cast<std::size_t>(cls.spec.kind)];
}

void Scheduler::dequeue(Action& action) {
    Class& cls = classes_[index(action.spec.cls)];
    const auto queue = cls.queues.find(action.queued_under);
    queue->second.erase(action.key);
    if (queue->second.empty()) cls.queues.erase(queue);
    --cls.waiting;
    Campaign& campaign = campaigns_[action.queued_under];
    --campaign.waiting;
    if (cls.spec.kind == TaskKind::kBuild) --campaign.waiting_builds;
    --waiting_by_kind_[static_cast<std::size_t>(cls.spec.kind)];
}

void Scheduler::start(Action& action, WorkerId id, Worker& worker, std::int32_t device, std::uint64_t bundle,
                      Instant now) {
    const std::uint32_t used_before = worker.used;
    Run run;
    run.worker = id;
    run.attempt = ++action.attempts;
    run.device = device;
    run.bundle = bundle;
    if (device >= 0) {
        worker.device_busy[static_cast<std::size_t>(device)] = true;
        worker.device_slots += worker.spec.devices[static_cast<std::size_t>(device)].slots;
    } else if (bundle == 0 || ++worker.bundles[bundle] == 1) {
        ++worker.used;
    }
    if (device < 0 && bundle == 0 && action.spec.straggler_after.count() > 0 && action.runs.empty()) {
        watch(run, action.spec.id, now + action.spec.straggler_after);
    }
    run.memory = memory_of(action);
    worker.memory_used += run.memory;
    insert_sorted(worker.running, action.spec.id);
    worker.suspect = suspect(action);
    if (!action.runs.empty()) ++backups_;
    action.runs.push_back(run);
    charge(action, action.spec.predicted);
    ++running_;
    reopen(id, worker, used_before);
}

void Scheduler::release(Action& action, std::size_t index_of_run) {
    const Run run = action.runs[index_of_run];
    action.runs.erase(action.runs.begin() + static_cast<std::ptrdiff_t>(index_of_run));
    --running_;
    if (!action.runs.empty()) --backups_;
    Worker& worker = workers_.at(run.worker);
    const std::uint32_t used_before = worker.used;
    if (run.device >= 0) {
        worker.device_busy[static_cast<std::size_t>(run.device)] = false;
        worker.device_slots -= worker.spec.devices[static_cast<std::size_t>(run.device)].slots;
    } else if (run.bundle == 0) {
        --worker.used;
    } else if (--worker.bundles[run.bundle] == 0) {
        worker.bundles.erase(run.bundle);
        --worker.used;
    }
    worker.memory_used -= run.memory;
    erase_sorted(worker.running, action.spec.id);
    worker.suspect = false;
    reopen(run.worker, worker, used_before);
}

void Scheduler::charge(const Action& action, Micros time) {
    // Shared work is paid by those who share it, in equal parts.
    const double each = static_cast<double>(time.count()) * 1e-6 / static_cast<double>(action.requests.size());
    for (const Request& request : action.requests) campaigns_[request.campaign].used += each;
}

std::size_t Scheduler::waiting_builds(CampaignId campaign) const {
    const auto it = campaigns_.find(campaign);
    return it == campaigns_.end() ? 0 : it->second.waiting_builds;
}

std::int64_t Scheduler::memory_of(const Action& action) const {
    const std::int64_t seen = classes_[index(action.spec.cls)].memory.count;
    return seen > 0 ? seen : action.spec.memory.count;
}

bool Scheduler::fits(const Action& action, const Worker& worker) const {
    // What is larger than any host runs alone: its limit, not the budget, then decides.
    return worker.memory_used == 0 || worker.memory_used + memory_of(action) <= worker.spec.memory.count;
}

bool Scheduler::trusted(const Worker& worker) const {
    return worker.health == HostState::kTrusted || (worker.health == HostState::kProbing && worker.running.empty());
}

bool Scheduler::has_credit(const Worker& worker) const {
    const std::uint32_t slots = worker.spec.slots;
    if (slots <= worker.device_slots || !trusted(worker) || worker.suspect) return false;
    return worker.used < slots - worker.device_slots + worker.spec.prefetch;
}

void Scheduler::reopen(WorkerId id, Worker& worker, std::uint32_t used_before) {
    Pool& pool = pools_[static_cast<std::size_t>(worker.pool)];
    const bool credit = worker.spec.slots > 0 && has_credit(worker);
    const bool device =
        worker.spec.slots > 0 && trusted(worker) && !worker.suspect &&
        std::find(worker.device_busy.begin(), worker.device_busy.end(), false) != worker.device_busy.end();
    const std::pair before(used_before, id);
    const std::pair now(worker.used, id);
    if (before != now || !credit) pool.open.erase(before);
    if (before != now || !device) pool.open_devices.erase(before);
    if (credit) pool.open.insert(now);
    if (device) pool.open_devices.insert(now);
}

bool Scheduler::has_device(const std::string& target) const {
    return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
        return std::any_of(entry.second.spec.devices.begin(), entry.second.spec.devices.end(),
                           [&](const DeviceSpec& device) { return runs_on(device.target, target); });
    });
}

}  // namespace tunefarm::schedule
