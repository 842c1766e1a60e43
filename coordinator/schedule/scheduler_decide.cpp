// SPDX-License-Identifier: MIT
// Scheduler: which waiting action starts where, and why another one does not.
#include <algorithm>
#include <functional>
#include <limits>
#include <tuple>

#include "base/target.h"
#include "coordinator/schedule/scheduler.h"

namespace tunefarm::schedule {
namespace {

// How deep a queue is searched past actions that this worker cannot start (memory, exclusion) before giving up on it.
constexpr int kSearchDepth = 8;
// How many workers of one pool are asked in vain before a pass ends: they differ only in load and memory, and the
// least loaded come first.
constexpr int kVainWorkers = 16;
// A straggler that could not be backed up is looked at again after this: slots may have become idle.
constexpr Micros kStragglerRecheck{1'000'000};
// The watch list is cleared of ended attempts when it holds so many entries, and four for each attempt that runs.
constexpr std::size_t kWatchSlack = 1024;

}  // namespace

int Scheduler::stage(TaskKind kind) const {
    switch (kind) {
        case TaskKind::kConclude: return 0;
        case TaskKind::kFinish: return 1;
        case TaskKind::kSplit: return 2;
        case TaskKind::kMeasure: return 3;
        case TaskKind::kPrepare: return waiting(TaskKind::kBuild) < std::size_t{2} * total_slots_ ? 4 : 6;
        case TaskKind::kHelper:
        case TaskKind::kBuild:
        case TaskKind::kNoop: return 5;
    }
    return 9;
}

std::optional<std::int32_t> Scheduler::free_device(const Worker& worker, const std::string& target) const {
    for (std::size_t i = 0; i < worker.device_busy.size(); ++i) {
        if (!worker.device_busy[i] && runs_on(worker.spec.devices[i].target, target)) {
            return static_cast<std::int32_t>(i);
        }
    }
    return std::nullopt;
}

bool Scheduler::work_waits(const Pool& pool, bool measure) const {
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        if (classes_[i].waiting > 0 && (classes_[i].spec.kind == TaskKind::kMeasure) == measure && pool.can[i]) {
            return true;
        }
    }
    return false;
}

std::int32_t Scheduler::top_priority(const Pool& pool, bool measure) const {
    std::int32_t top = std::numeric_limits<std::int32_t>::min();
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const Class& cls = classes_[i];
        if (cls.waiting == 0 || (cls.spec.kind == TaskKind::kMeasure) != measure || !pool.can[i]) continue;
        for (const auto& [campaign, queue] : cls.queues) top = std::max(top, campaigns_.at(campaign).priority);
    }
    return top;
}

bool Scheduler::another_host(const Action& action) const {
    const bool expected = std::any_of(departed_.begin(), departed_.end(), [&](const auto& entry) {
        const auto& [host, departed] = entry;
        return now_ - departed.at <= options_.expected_back &&
               (departed.pool < 0 || pools_[static_cast<std::size_t>(departed.pool)].can[index(action.spec.cls)]) &&
               std::count(action.failed_on.begin(), action.failed_on.end(), host) == 0;
    });
    return expected || std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
               const auto& [id, worker] = entry;
               return worker.spec.slots > 0 && worker.health == HostState::kTrusted &&
                      pools_[static_cast<std::size_t>(worker.pool)].can[index(action.spec.cls)] &&
                      std::count(action.excluded.begin(), action.excluded.end(), id) == 0 &&
                      std::count(action.failed_on.begin(), action.failed_on.end(), worker.spec.host) == 0;
           });
}

std::uint32_t Scheduler::reserved(const Worker& worker, const Pool& pool) const {
    std::uint32_t slots = 0;
    for (std::size_t i = 0; i < worker.device_busy.size(); ++i) {
        const std::uint32_t wanted = worker.spec.devices[i].slots;
        // A device that takes the whole host waits until no other work is left: nothing is held back for it.
        if (!worker.device_busy[i] && wanted > 0 && wanted < worker.spec.slots) slots = std::max(slots, wanted);
    }
    return slots > 0 && work_waits(pool, true) ? slots : 0;
}

Scheduler::Block Scheduler::blocked(const Action& action, WorkerId id, const Worker& worker, const Pool& pool) const {
    const ClassSpec& cls = classes_[index(action.spec.cls)].spec;
    if (std::count(action.excluded.begin(), action.excluded.end(), id) > 0) return Block::kExcluded;
    if (worker.spec.slots == 0) return Block::kNoNewWork;
    if (!trusted(worker)) return Block::kQuarantined;
    if (std::count(action.failed_on.begin(), action.failed_on.end(), worker.spec.host) > 0 && another_host(action)) {
        return Block::kOtherHost;
    }
    if (worker.suspect) return Block::kBesideSuspect;
    if (suspect(action) && !worker.running.empty()) return Block::kSuspect;
    if (!fits(action, worker)) return Block::kMemory;
    if (cls.kind != TaskKind::kMeasure) {
        if (!has_credit(worker)) return Block::kSlot;
        if (worker.used + worker.device_slots + reserved(worker, pool) >= worker.spec.slots + worker.spec.prefetch) {
            return Block::kReserved;
        }
        // A measurement that needs the whole host would wait for all other work: for work of less priority it does not.
        if (worker.alone && top_priority(pool, true) > campaigns_.at(action.queued_under).priority) {
            return Block::kForMeasurement;
        }
        return Block::kFree;
    }
    const auto device = free_device(worker, cls.target);
    if (!device) return Block::kDevice;
    const std::uint32_t wanted = worker.spec.devices[static_cast<std::size_t>(*device)].slots;
    if (wanted == 0) return Block::kFree;
    if (wanted >= worker.spec.slots) {
        if (worker.used > 0 || worker.device_slots > 0) return Block::kIdle;
        const bool last = top_priority(pool, false) < campaigns_.at(action.queued_under).priority;
        return last || !work_waits(pool, false) ? Block::kFree : Block::kOtherWork;
    }
    // What was sent beyond the slots waits on the worker until the measurement has ended.
    return worker.device_slots + wanted <= worker.spec.slots ? Block::kFree : Block::kReservedSlots;
}

std::optional<Scheduler::Choice> Scheduler::best(const Pool& pool, const Worker& worker, WorkerId id,
                                                 bool measure) const {
    std::optional<Choice> out;
    std::tuple<std::int32_t, double, int, QueueKey> out_order;
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const Class& cls = classes_[i];
        if (cls.waiting == 0 || !pool.can[i] || (cls.spec.kind == TaskKind::kMeasure) != measure) continue;
        const int at = stage(cls.spec.kind);
        for (const auto& [campaign_id, queue] : cls.queues) {
            const Campaign& campaign = campaigns_.at(campaign_id);
            int depth = 0;
            for (const QueueKey& key : queue) {
                std::tuple<std::int32_t, double, int, QueueKey> order(-campaign.priority, campaign.used, at, key);
                if (out && !(order < out_order)) break;
                if (blocked(actions_.at(key.action.value()), id, worker, pool) == Block::kFree) {
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

void Scheduler::bundle_more(const Choice& first, WorkerId id, Worker& worker, std::uint64_t bundle, Instant now,
                            Dispatch& dispatch) {
    Class& cls = classes_[index(first.cls)];
    const std::size_t fair = cls.waiting / (std::size_t{2} * std::max(total_slots_, 1U));
    const std::size_t most = std::min<std::size_t>(options_.bundle_most, fair);
    Micros total = actions_.at(first.action.value()).spec.predicted;
    while (dispatch.items.size() < most) {
        const auto queue = cls.queues.find(first.campaign);
        if (queue == cls.queues.end()) return;
        Action& next = actions_.at(queue->second.begin()->action.value());
        total += next.spec.predicted;
        if (total > options_.bundle_total || !next.excluded.empty() || next.crashes + next.losses > 0) return;
        if (!fits(next, worker)) return;
        dequeue(next);
        start(next, id, worker, -1, bundle, now);
        dispatch.items.push_back({next.spec.id, next.attempts});
    }
}

void Scheduler::dispatch(const Choice& choice, WorkerId id, Worker& worker, Instant now, std::vector<Dispatch>& out) {
    Action& action = actions_.at(choice.action.value());
    const ClassSpec& cls = classes_[index(choice.cls)].spec;
    Dispatch dispatch;
    dispatch.worker = id;
    dispatch.cls = choice.cls;
    if (cls.kind == TaskKind::kMeasure) dispatch.device = *free_device(worker, cls.target);
    // A kernel that has killed a driver travels alone, so that it takes no other one with it again.
    const bool tiny = (cls.kind == TaskKind::kBuild || cls.kind == TaskKind::kNoop) &&
                      action.crashes + action.losses == 0 && action.spec.predicted < options_.bundle_below;
    const std::uint64_t bundle = tiny ? next_bundle_++ : 0;
    dequeue(action);
    start(action, id, worker, dispatch.device, bundle, now);
    dispatch.items.push_back({action.spec.id, action.attempts});
    if (tiny) bundle_more(choice, id, worker, bundle, now, dispatch);
    out.push_back(std::move(dispatch));
}

void Scheduler::decide_pool(Pool& pool, bool measure, Instant now, std::vector<Dispatch>& out) {
    auto& open = measure ? pool.open_devices : pool.open;
    int vain = 0;
    for (auto it = open.begin(); it != open.end() && vain < kVainWorkers;) {
        const WorkerId id = it->second;
        Worker& worker = workers_.at(id);
        const auto choice = best(pool, worker, id, measure);
        if (!choice) {
            ++it;
            ++vain;
            continue;
        }
        dispatch(*choice, id, worker, now, out);
        if (!work_waits(pool, measure)) return;
        // Starting moved the worker within the pool's order: the least loaded one is first again.
        it = open.begin();
        vain = 0;
    }
}

void Scheduler::decide(Instant now, std::vector<Dispatch>& out) {
    now_ = now;
    health_.due(now);
    update_health();
    for (Pool& pool : pools_) {
        if (work_waits(pool, true)) decide_pool(pool, true, now, out);
        if (work_waits(pool, false)) decide_pool(pool, false, now, out);
    }
    if (!watch_.empty() && watch_.front().first <= now) back_up_stragglers(now, out);
}

void Scheduler::watch(Run& run, ActionId action, Instant at) {
    if (watch_.size() > kWatchSlack + 4 * running_) {
        std::erase_if(watch_, [&](const auto& entry) { return watched(entry) == nullptr; });
        std::make_heap(watch_.begin(), watch_.end(), std::greater<>());
    }
    run.straggler = at;
    watch_.emplace_back(at, action);
    std::push_heap(watch_.begin(), watch_.end(), std::greater<>());
}

Scheduler::Run* Scheduler::watched(const std::pair<Instant, ActionId>& entry) {
    const auto action = actions_.find(entry.second.value());
    if (action == actions_.end()) return nullptr;
    for (Run& run : action->second.runs) {
        if (run.straggler == entry.first) return &run;
    }
    return nullptr;
}

bool Scheduler::back_up(Action& action, Instant now, std::vector<Dispatch>& out) {
    // Work that waits is better use of a slot than a second copy.
    if (action.runs.size() != 1 || classes_[index(action.spec.cls)].waiting > 0) return false;
    const std::string& host = workers_.at(action.runs.front().worker).spec.host;
    for (Pool& pool : pools_) {
        if (!pool.can[index(action.spec.cls)]) continue;
        int vain = 0;
        for (const auto& [used, id] : pool.open) {
            Worker& worker = workers_.at(id);
            if (used >= worker.spec.slots || ++vain > kVainWorkers) break;
            if (worker.spec.host == host || blocked(action, id, worker, pool) != Block::kFree) continue;
            start(action, id, worker, -1, 0, now);
            Dispatch backup;
            backup.worker = id;
            backup.cls = action.spec.cls;
            backup.backup = true;
            backup.items.push_back({action.spec.id, action.attempts});
            out.push_back(std::move(backup));
            return true;
        }
    }
    return false;
}

void Scheduler::back_up_stragglers(Instant now, std::vector<Dispatch>& out) {
    const auto most =
        std::max<std::size_t>(1, static_cast<std::size_t>(options_.backup_share * static_cast<double>(total_slots_)));
    while (!watch_.empty() && watch_.front().first <= now) {
        const auto entry = watch_.front();
        std::pop_heap(watch_.begin(), watch_.end(), std::greater<>());
        watch_.pop_back();
        Run* run = watched(entry);
        if (run == nullptr) continue;
        run->straggler = Instant{};
        Action& action = actions_.at(entry.second.value());
        if (backups_ >= most || !back_up(action, now, out)) watch(*run, entry.second, now + kStragglerRecheck);
    }
}

}  // namespace tunefarm::schedule
