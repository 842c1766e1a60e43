// SPDX-License-Identifier: MIT
#include "coordinator/schedule/scheduler.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/target.h"

namespace tunefarm::schedule {
namespace {

// How deep a queue is searched past actions that this worker cannot start (memory, exclusion) before giving up on it.
constexpr int kSearchDepth = 8;
// How many workers of one pool are asked in vain before a pass ends: they differ only in load and memory.
constexpr int kVainWorkers = 16;

bool same_work(const ClassSpec& ability, const ClassSpec& wanted) {
    return ability.kind == wanted.kind && ability.toolchain == wanted.toolchain &&
           (ability.target == wanted.target || ability.target == "*") && ability.fingerprint == wanted.fingerprint;
}

}  // namespace

ClassId Scheduler::intern(const ClassSpec& spec) {
    if (const auto it = class_ids_.find(spec); it != class_ids_.end()) return it->second;
    classes_.push_back(Class{spec, {}, 0});
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
    Worker worker;
    worker.pool = static_cast<std::int32_t>(pool);
    worker.device_busy.resize(spec.devices.size());
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

std::vector<ActionId> Scheduler::worker_lost(WorkerId id) {
    const auto it = workers_.find(id);
    if (it == workers_.end()) return {};
    std::vector<ActionId> back;
    const std::set<ActionId> running = it->second.running;
    for (const ActionId action_id : running) {
        Action& action = actions_.at(action_id);
        release(action);
        enqueue(action);
        back.push_back(action_id);
    }
    pools_[static_cast<std::size_t>(it->second.pool)].open.erase({it->second.used, id});
    total_slots_ -= it->second.spec.slots;
    workers_.erase(it);
    return back;
}

bool Scheduler::adopt(WorkerId worker_id, ActionId action_id, std::uint32_t attempt) {
    const auto worker = workers_.find(worker_id);
    const auto action = actions_.find(action_id);
    if (worker == workers_.end() || action == actions_.end() || action->second.worker.valid()) return false;
    dequeue(action->second);
    start(action->second, worker_id, worker->second, -1, 0);
    action->second.attempts = attempt;
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
    auto [it, added] = actions_.try_emplace(spec.id);
    Action& action = it->second;
    if (added) {
        action.spec = spec;
        action.attempts = attempts_so_far;
    }
    const bool waiting = !action.worker.valid();
    if (!added && waiting) dequeue(action);
    const auto same = std::find_if(action.requests.begin(), action.requests.end(),
                                   [&](const Request& r) { return r.campaign == request.campaign; });
    if (same == action.requests.end()) {
        action.requests.push_back(request);
    } else {
        same->priority = std::max(same->priority, request.priority);
        same->rank = std::min(same->rank, request.rank);
    }
    if (waiting) enqueue(action);
}

Scheduler::Withdrawn Scheduler::withdraw(ActionId id, CampaignId campaign) {
    Withdrawn out;
    const auto it = actions_.find(id);
    if (it == actions_.end()) return out;
    Action& action = it->second;
    const bool waiting = !action.worker.valid();
    if (waiting) dequeue(action);
    std::erase_if(action.requests, [&](const Request& r) { return r.campaign == campaign; });
    if (!action.requests.empty()) {
        if (waiting) enqueue(action);
        return out;
    }
    out.gone = true;
    if (!waiting) {
        out.worker = action.worker;
        out.attempt = action.attempts;
        release(action);
    }
    actions_.erase(it);
    return out;
}

Verdict Scheduler::attempt_ended(ActionId id, std::uint32_t attempt, Outcome outcome, Micros) {
    const auto it = actions_.find(id);
    if (it == actions_.end() || !it->second.worker.valid() || it->second.attempts != attempt) return Verdict::kStale;
    Action& action = it->second;
    const WorkerId worker = action.worker;
    release(action);
    bool failed = false;
    switch (outcome) {
        case Outcome::kOk: actions_.erase(it); return Verdict::kDone;
        case Outcome::kInputFailed: failed = ++action.diagnostics >= options_.confirmations; break;
        case Outcome::kCrashed:
        case Outcome::kTimedOut:
        case Outcome::kOutOfMemory: failed = ++action.crashes >= options_.max_attempts; break;
        case Outcome::kUnsupported: {
            action.excluded.push_back(worker);
            failed = std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
                return pools_[static_cast<std::size_t>(entry.second.pool)].can[index(action.spec.cls)] &&
                       std::count(action.excluded.begin(), action.excluded.end(), entry.first) == 0;
            });
            break;
        }
        case Outcome::kCancelled:
        case Outcome::kNoSpace:
        case Outcome::kLost: break;
    }
    if (failed) {
        actions_.erase(it);
        return Verdict::kFailed;
    }
    enqueue(action);
    return Verdict::kRetry;
}

void Scheduler::enqueue(Action& action) {
    // The best request decides: highest priority, then the campaign that has used least, then the lowest rank.
    const Request* best = &action.requests.front();
    double rank = best->rank;
    for (const Request& request : action.requests) {
        const auto order = [&](const Request& r) {
            return std::tuple(-r.priority, campaigns_.at(r.campaign).used, r.rank, r.campaign);
        };
        if (order(request) < order(*best)) best = &request;
        rank = std::min(rank, request.rank);
    }
    action.key = QueueKey{rank, -action.spec.predicted.count(), action.spec.id};
    action.queued_under = best->campaign;
    Class& cls = classes_[index(action.spec.cls)];
    cls.queues[best->campaign].insert(action.key);
    ++cls.waiting;
    ++campaigns_[best->campaign].waiting;
    ++waiting_by_kind_[static_cast<std::size_t>(cls.spec.kind)];
}

void Scheduler::dequeue(Action& action) {
    Class& cls = classes_[index(action.spec.cls)];
    const auto queue = cls.queues.find(action.queued_under);
    queue->second.erase(action.key);
    if (queue->second.empty()) cls.queues.erase(queue);
    --cls.waiting;
    --campaigns_[action.queued_under].waiting;
    --waiting_by_kind_[static_cast<std::size_t>(cls.spec.kind)];
}

void Scheduler::start(Action& action, WorkerId id, Worker& worker, std::int32_t device, std::uint64_t bundle) {
    const ClassSpec& cls = classes_[index(action.spec.cls)].spec;
    const std::uint32_t used_before = worker.used;
    if (cls.kind == TaskKind::kMeasure && device >= 0) {
        worker.device_busy[static_cast<std::size_t>(device)] = true;
        worker.device_slots += worker.spec.devices[static_cast<std::size_t>(device)].slots;
    } else if (bundle == 0) {
        ++worker.used;
    } else if (++worker.bundles[bundle] == 1) {
        ++worker.used;
    }
    if (cls.kind == TaskKind::kHelper) ++worker.helpers;
    worker.memory_used += action.spec.memory.count;
    worker.running.insert(action.spec.id);
    ++action.attempts;
    action.worker = id;
    action.device = device;
    action.bundle = bundle;
    campaigns_[action.requests.front().campaign].used += static_cast<double>(action.spec.predicted.count()) * 1e-6;
    ++running_;
    reopen(id, worker, used_before);
}

void Scheduler::release(Action& action) {
    const WorkerId id = std::exchange(action.worker, WorkerId{});
    --running_;
    const auto it = workers_.find(id);
    if (it == workers_.end()) return;
    Worker& worker = it->second;
    const ClassSpec& cls = classes_[index(action.spec.cls)].spec;
    const std::uint32_t used_before = worker.used;
    if (action.device >= 0) {
        worker.device_busy[static_cast<std::size_t>(action.device)] = false;
        worker.device_slots -= worker.spec.devices[static_cast<std::size_t>(action.device)].slots;
    } else if (action.bundle == 0) {
        --worker.used;
    } else if (--worker.bundles[action.bundle] == 0) {
        worker.bundles.erase(action.bundle);
        --worker.used;
    }
    if (cls.kind == TaskKind::kHelper) --worker.helpers;
    worker.memory_used -= action.spec.memory.count;
    worker.running.erase(action.spec.id);
    action.device = -1;
    action.bundle = 0;
    reopen(id, worker, used_before);
}

bool Scheduler::has_credit(const Worker& worker) const {
    const std::uint32_t slots = worker.spec.slots;
    if (slots <= worker.device_slots) return false;
    return worker.used < slots - worker.device_slots + worker.spec.prefetch;
}

void Scheduler::reopen(WorkerId id, Worker& worker, std::uint32_t used_before) {
    Pool& pool = pools_[static_cast<std::size_t>(worker.pool)];
    pool.open.erase({used_before, id});
    const bool device_free =
        std::find(worker.device_busy.begin(), worker.device_busy.end(), false) != worker.device_busy.end();
    if (worker.spec.slots > 0 && (has_credit(worker) || device_free)) pool.open.insert({worker.used, id});
}

int Scheduler::stage(TaskKind kind, const Pool& pool, const Worker& worker) const {
    switch (kind) {
        case TaskKind::kConclude: return 0;
        case TaskKind::kFinish: return 1;
        case TaskKind::kSplit: return 2;
        case TaskKind::kMeasure: return 3;
        // While builds wait, one helper compile at a time has the next free slot.
        case TaskKind::kHelper: return worker.helpers == 0 || waiting(TaskKind::kBuild) == 0 ? 4 : 8;
        case TaskKind::kPrepare: return waiting(TaskKind::kBuild) < std::size_t{2} * total_slots_ ? 5 : 7;
        case TaskKind::kBuild:
        case TaskKind::kNoop: return 6;
    }
    static_cast<void>(pool);
    return 9;
}

std::optional<std::int32_t> Scheduler::free_device(const Worker& worker, const std::string& target) const {
    for (std::size_t i = 0; i < worker.device_busy.size(); ++i) {
        if (!worker.device_busy[i] && runs_on(worker.spec.devices[i].target, target)) return static_cast<std::int32_t>(i);
    }
    return std::nullopt;
}

bool Scheduler::cpu_work_waits(const Pool& pool) const {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        if (classes_[i].waiting > 0 && classes_[i].spec.kind != TaskKind::kMeasure && pool.can[i]) return true;
    }
    return false;
}

std::string Scheduler::blocked(const Action& action, WorkerId id, const Worker& worker, const Pool& pool) const {
    const ClassSpec& cls = classes_[index(action.spec.cls)].spec;
    if (std::count(action.excluded.begin(), action.excluded.end(), id) > 0) return "this host said that it cannot";
    if (worker.spec.slots == 0) return "the host takes no new work (draining, or its disk is full)";
    if (worker.memory_used > 0 && worker.memory_used + action.spec.memory.count > worker.spec.memory.count) {
        return "waits for memory: " + std::to_string(action.spec.memory.count >> 20) + " MiB predicted, " +
               std::to_string((worker.spec.memory.count - worker.memory_used) >> 20) + " MiB free";
    }
    if (cls.kind != TaskKind::kMeasure) return has_credit(worker) ? "" : "waits for a free slot";
    const auto device = free_device(worker, cls.target);
    if (!device) return "waits for a free device of target " + cls.target;
    const std::uint32_t wanted = worker.spec.devices[static_cast<std::size_t>(*device)].slots;
    if (wanted == 0) return "";
    if (wanted >= worker.spec.slots) {
        if (worker.used > 0 || worker.device_slots > 0) return "measures alone: waits until the host is idle";
        if (cpu_work_waits(pool)) return "measures alone: waits until no other work is left for the host";
        return "";
    }
    return worker.used + worker.device_slots + wanted <= worker.spec.slots ? "" : "waits for its reserved slots";
}

std::optional<Scheduler::Choice> Scheduler::best(const Pool& pool, const Worker& worker, WorkerId id) const {
    std::optional<Choice> out;
    std::tuple<std::int32_t, double, int, QueueKey> out_order;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const Class& cls = classes_[i];
        if (cls.waiting == 0 || !pool.can[i]) continue;
        const int at = stage(cls.spec.kind, pool, worker);
        for (const auto& [campaign_id, queue] : cls.queues) {
            const Campaign& campaign = campaigns_.at(campaign_id);
            int depth = 0;
            for (const QueueKey& key : queue) {
                std::tuple<std::int32_t, double, int, QueueKey> order(-campaign.priority, campaign.used, at, key);
                if (out && !(order < out_order)) break;
                if (blocked(actions_.at(key.action), id, worker, pool).empty()) {
                    out = Choice{ClassId(static_cast<std::int64_t>(i + 1)), campaign_id, key.action};
                    out_order = order;
                    break;
                }
                if (++depth == kSearchDepth) break;
            }
        }
    }
    return out;
}

void Scheduler::bundle_more(const Choice& first, WorkerId id, Worker& worker, std::uint64_t bundle,
                            Dispatch& dispatch) {
    Class& cls = classes_[index(first.cls)];
    const std::size_t fair = cls.waiting / (std::size_t{2} * std::max(total_slots_, 1U));
    const std::size_t most = std::min<std::size_t>(options_.bundle_most, fair);
    Micros total = actions_.at(first.action).spec.predicted;
    while (dispatch.items.size() < most) {
        const auto queue = cls.queues.find(first.campaign);
        if (queue == cls.queues.end()) return;
        Action& next = actions_.at(queue->second.begin()->action);
        total += next.spec.predicted;
        const Pool& pool = pools_[static_cast<std::size_t>(worker.pool)];
        if (total > options_.bundle_total || !next.excluded.empty() || next.crashes > 0) return;
        const std::string reason = has_credit(worker) ? blocked(next, id, worker, pool) : "";
        if (!reason.empty()) return;
        dequeue(next);
        start(next, id, worker, -1, bundle);
        dispatch.items.push_back({next.spec.id, next.attempts});
    }
}

void Scheduler::decide(std::vector<Dispatch>& out) {
    for (Pool& pool : pools_) {
        int vain = 0;
        for (auto it = pool.open.begin(); it != pool.open.end() && vain < kVainWorkers;) {
            const WorkerId id = it->second;
            Worker& worker = workers_.at(id);
            const auto choice = best(pool, worker, id);
            if (!choice) {
                ++it;
                if (worker.spec.devices.empty()) ++vain;
                continue;
            }
            Action& action = actions_.at(choice->action);
            const ClassSpec& cls = classes_[index(choice->cls)].spec;
            Dispatch dispatch;
            dispatch.worker = id;
            dispatch.cls = choice->cls;
            if (cls.kind == TaskKind::kMeasure) dispatch.device = *free_device(worker, cls.target);
            const bool tiny = (cls.kind == TaskKind::kBuild || cls.kind == TaskKind::kNoop) && action.crashes == 0 &&
                              action.spec.predicted < options_.bundle_below;
            const std::uint64_t bundle = tiny ? next_bundle_++ : 0;
            dequeue(action);
            start(action, id, worker, dispatch.device, bundle);
            dispatch.items.push_back({action.spec.id, action.attempts});
            if (tiny) bundle_more(*choice, id, worker, bundle, dispatch);
            out.push_back(std::move(dispatch));
            // Starting moved the worker within the pool's order: the least loaded one is first again.
            it = pool.open.begin();
            vain = 0;
        }
    }
}

bool Scheduler::has_device(const std::string& target) const {
    return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
        return std::any_of(entry.second.spec.devices.begin(), entry.second.spec.devices.end(),
                           [&](const DeviceSpec& device) { return runs_on(device.target, target); });
    });
}

bool Scheduler::has_ability(const ClassSpec& wanted) const {
    return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
        return pool_can(pools_[static_cast<std::size_t>(entry.second.pool)], wanted);
    });
}

std::string Scheduler::explain(ActionId id) const {
    const auto it = actions_.find(id);
    if (it == actions_.end()) return "not waiting: it has ended, or nobody asks for it";
    const Action& action = it->second;
    if (action.worker.valid()) {
        return "running on " + workers_.at(action.worker).spec.host + ", attempt " + std::to_string(action.attempts);
    }
    const ClassSpec& cls = classes_[index(action.spec.cls)].spec;
    std::string reasons;
    for (const auto& [worker_id, worker] : workers_) {
        const Pool& pool = pools_[static_cast<std::size_t>(worker.pool)];
        if (!pool.can[index(action.spec.cls)]) continue;
        const std::string reason = blocked(action, worker_id, worker, pool);
        reasons += (reasons.empty() ? "" : "; ") + worker.spec.host + ": " +
                   (reason.empty() ? "other work comes first" : reason);
    }
    if (!reasons.empty()) return reasons;
    return "no connected worker can " + std::string(to_string(cls.kind)) + " with toolchain " + cls.toolchain +
           " for target " + cls.target;
}

}  // namespace tunefarm::schedule
