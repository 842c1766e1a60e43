// SPDX-License-Identifier: MIT
// Scheduler: why an action does not run, in words. The predicates are those of scheduler_decide.cpp.
#include <map>

#include "coordinator/schedule/scheduler.h"

namespace tunefarm::schedule {
namespace {

// Hosts that are named for one reason; the others are counted.
constexpr std::size_t kNamed = 3;

std::string mebibytes(std::int64_t bytes) {
    return std::to_string(bytes >> 20) + " MiB";
}

std::string names(const std::vector<std::string>& hosts) {
    std::string out;
    for (std::size_t i = 0; i < hosts.size() && i < kNamed; ++i) out += (i > 0 ? ", " : "") + hosts[i];
    if (hosts.size() > kNamed) out += " and " + std::to_string(hosts.size() - kNamed) + " more";
    return out;
}

}  // namespace

std::string Scheduler::words(Block block, const Action& action, const Worker& worker, Instant now) const {
    const std::string& target = classes_[index(action.spec.cls)].spec.target;
    switch (block) {
        case Block::kFree: return "other work comes first";
        case Block::kExcluded: return "the host said that it cannot";
        case Block::kNoNewWork: return "the host takes no new work (draining, or its disk is full)";
        case Block::kQuarantined: return health_.explain(worker.spec.host, now);
        case Block::kOtherHost: return "it failed here: another host tries it next";
        case Block::kSuspect:
            return "its worker died " + std::to_string(action.losses) +
                   " times: it waits for the host to be idle, to run alone";
        case Block::kBesideSuspect: return "the host runs what may have killed a worker, and nothing beside it";
        case Block::kMemory:
            return "waits for memory: " + mebibytes(memory_of(action)) + " predicted, " +
                   mebibytes(worker.spec.memory.count - worker.memory_used) + " of " +
                   mebibytes(worker.spec.memory.count) + " free";
        case Block::kSlot:
            return "waits for a free slot: all " + std::to_string(worker.spec.slots) + " have work" +
                   (worker.device_slots > 0 ? ", a measurement among it" : "");
        case Block::kReserved: return "waits for a free slot: the others are kept for a measurement";
        case Block::kForMeasurement: return "a measurement of higher priority needs the whole host first";
        case Block::kDevice: return "waits for a free device of target " + target;
        case Block::kIdle: return "measures alone: waits until the host is idle";
        case Block::kOtherWork: return "measures alone: waits until no other work is left for the host";
        case Block::kReservedSlots: return "waits for its reserved slots";
    }
    return "";
}

Scheduler::Why Scheduler::explain(ActionId id, Instant now) const {
    Why out;
    const auto it = actions_.find(id.value());
    if (it == actions_.end()) {
        out.lines.emplace_back("it has ended, or nobody asks for it");
        return out;
    }
    const Action& action = it->second;
    if (!action.runs.empty()) {
        out.running = true;
        std::string text = "on " + workers_.at(action.runs[0].worker).spec.host + ", attempt " +
                           std::to_string(action.runs[0].attempt);
        if (action.runs.size() > 1) text += ", with a backup on " + workers_.at(action.runs[1].worker).spec.host;
        out.lines.push_back(std::move(text));
        return out;
    }
    std::map<std::string, std::vector<std::string>> hosts;
    for (const auto& [worker_id, worker] : workers_) {
        const Pool& pool = pools_[static_cast<std::size_t>(worker.pool)];
        if (!pool.can[index(action.spec.cls)]) continue;
        const Block block = blocked(action, worker_id, worker, pool);
        hosts[words(block, action, worker, now)].push_back(worker.spec.host);
    }
    for (const auto& [reason, where] : hosts) out.lines.push_back(names(where) + ": " + reason);
    if (!out.lines.empty()) return out;
    const ClassSpec& cls = classes_[index(action.spec.cls)].spec;
    out.lines.push_back("no connected worker can " + std::string(to_string(cls.kind)) + " with toolchain " +
                        cls.toolchain + " for target " + cls.target);
    return out;
}

}  // namespace tunefarm::schedule
