// SPDX-License-Identifier: MIT
// Core: who is connected, and what they say.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/log.h"
#include "coordinator/server/core.h"

namespace tunefarm::server {
namespace {

using nlohmann::json;

// Assignments beyond the slots: enough that a slot never waits for a round trip, few enough that a late better choice
// still gets through.
std::uint32_t prefetch_of(std::uint32_t slots) {
    return std::min(slots, 2 + slots / 8);
}

}  // namespace

Core::Peer* Core::find(const std::string& peer) {
    const auto it = peer_ids_.find(peer);
    return it == peer_ids_.end() ? nullptr : &peers_.at(it->second);
}

void Core::message(const std::string& from, const protocol::FromWorker& message, Instant now) {
    now_ = now;
    if (const auto* hello = std::get_if<protocol::Hello>(&message)) {
        on(from, *hello, now);
    } else if (Peer* peer = find(from)) {
        peer->last_seen = now;
        ++peer->received;
        if (const auto* heartbeat = std::get_if<protocol::WorkerHeartbeat>(&message)) on(*peer, *heartbeat);
        if (const auto* credit = std::get_if<protocol::Credit>(&message)) on(*peer, *credit);
        if (const auto* rows = std::get_if<protocol::Rows>(&message)) on(*peer, *rows);
        if (const auto* result = std::get_if<protocol::AttemptResult>(&message)) on(*peer, *result, now);
        if (const auto* bye = std::get_if<protocol::Goodbye>(&message))
            lose(peer->id, now, Loss::kLeft, "said goodbye: " + bye->reason);
    } else {
        // A worker that outlived a restart of the coordinator, or was taken for lost: it must say hello again.
        transport_.send(from, protocol::Refused{"unknown connection: say hello", true});
    }
    pump(now);
}

void Core::bad_frame(const std::string& peer, const Error& error) {
    if (Peer* known = find(peer)) ++known->received;
    if (error.kind == ErrorKind::kUnsupported) transport_.send(peer, protocol::Refused{error.message});
}

void Core::on(const std::string& from, const protocol::Hello& hello, Instant now) {
    for (const auto& [id, peer] : peers_) {
        if (peer.hello.host != hello.host) continue;
        const bool same = peer.hello.boot == hello.boot;
        lose(id, now, same ? Loss::kLeft : Loss::kDied, same ? "connected again" : "was started again");
        break;
    }
    Peer peer;
    peer.id = ids_.take(ids_.last.worker);
    peer.peer = from;
    peer.hello = hello;
    peer.connected = now;
    peer.last_seen = now;
    peer.slots = hello.slots;
    peer.received = 1;

    schedule::WorkerSpec spec;
    spec.host = hello.host;
    spec.slots = hello.slots;
    spec.prefetch = prefetch_of(hello.slots);
    spec.memory = hello.memory;
    for (const protocol::Capability& ability : hello.capabilities) {
        spec.abilities.push_back(
            schedule::ClassSpec{ability.verb, ability.toolchain, ability.target, ability.fingerprint});
    }
    for (const protocol::Device& device : hello.devices) {
        spec.devices.push_back(schedule::DeviceSpec{device.target, device.slots});
    }
    const std::size_t devices = spec.devices.size();
    scheduler_.worker_joined(peer.id, std::move(spec));
    graph_.set_capacity(scheduler_.total_slots(), static_cast<double>(devices));
    record_worker(peer, Instant{});
    peer_ids_[from] = peer.id;
    protocol::Welcome welcome;
    welcome.farm = options_.farm;
    welcome.artifacts = options_.artifacts_endpoint;
    welcome.heartbeat = options_.heartbeat;
    welcome.dead_after = options_.dead_after;
    const WorkerId id = peer.id;
    send(peers_.emplace(id, std::move(peer)).first->second, welcome);
    log::info("worker " + hello.host + " joined with " + std::to_string(hello.slots) + " slots");
    take_back(id, hello.running);
    // What had no toolchain may have one now.
    for (const auto& [campaign, tasks] : std::exchange(unbound_, {})) {
        for (const Requester& task : tasks) request(task);
    }
}

bool Core::send(Peer& peer, const protocol::FromCoordinator& message) {
    ++peer.sent;
    return transport_.send(peer.peer, message);
}

void Core::take_back(WorkerId worker, const std::vector<protocol::AttemptKey>& running) {
    for (const protocol::AttemptKey& key : running) {
        const auto it = live_.find(key.action);
        if (it == live_.end()) {
            survivors_[key.action] = {worker, key.attempt};
            continue;
        }
        Action& action = it->second;
        const auto interrupted = interrupted_.find(key.action);
        const bool known = interrupted != interrupted_.end() && interrupted->second.attempt == key.attempt;
        const bool measure = action.draft.kind == TaskKind::kMeasure;
        Run run{worker, key.attempt, now_, 0, -1};
        if (known) {
            run = interrupted->second;
            run.worker = worker;
        }
        // Rows of a measurement are facts: without those that came before, the attempt is worth nothing.
        if (measure && !known) {
            send(peers_.at(worker), protocol::Cancel{{key}, "it is measured again"});
            continue;
        }
        // Given to another worker meanwhile: whichever ends first counts, except that nothing is measured twice.
        if (!scheduler_.adopt(worker, key.action, key.attempt, run.device, now_)) {
            if (measure) send(peers_.at(worker), protocol::Cancel{{key}, "it is measured elsewhere"});
            continue;
        }
        if (known) interrupted_.erase(interrupted);
        action.runs.push_back(run);
        records_.emplace_back(attempt_record(key.action, run));
    }
}

void Core::record_worker(const Peer& peer, Instant lost) {
    json devices = json::array();
    for (const protocol::Device& device : peer.hello.devices) {
        devices.push_back({{"id", device.id},
                           {"target", device.target},
                           {"description", device.description},
                           {"simulated", device.simulated},
                           {"facts", json::parse(device.facts, nullptr, false)}});
    }
    storage::WorkerRecord record;
    record.id = peer.id;
    record.host = peer.hello.host;
    record.boot = to_hex(peer.hello.boot);
    record.slots = static_cast<std::int32_t>(peer.hello.slots);
    record.memory = peer.hello.memory;
    record.connected = peer.connected;
    record.lost = lost;
    record.devices = devices.dump(-1, ' ', false, json::error_handler_t::replace);
    records_.emplace_back(std::move(record));
}

void Core::on(Peer& peer, const protocol::WorkerHeartbeat& heartbeat) {
    if (heartbeat.sent != 0 && heartbeat.sent + 1 != peer.received) {
        log::warning("messages of worker " + peer.hello.host + " were lost: it is told to say hello again");
        send(peer, protocol::Refused{"messages were lost: say hello", true});
    }
    const protocol::SlotAccount& account = heartbeat.account;
    if (account.wall.count() == 0) return;
    storage::AccountRecord record;
    record.worker = peer.id;
    record.slots = static_cast<std::int32_t>(account.slots);
    record.wall = account.wall;
    for (std::size_t kind = 0; kind < account.busy.size(); ++kind) {
        if (account.busy[kind].count() == 0) continue;
        record.busy.emplace_back(to_string(static_cast<TaskKind>(kind)), account.busy[kind]);
    }
    record.idle = account.idle;
    records_.emplace_back(std::move(record));
}

void Core::on(Peer& peer, const protocol::Credit& credit) {
    log::warning("worker " + peer.hello.host + " now offers " + std::to_string(credit.slots) +
                 " slots: " + credit.reason);
    peer.slots = credit.slots;
    scheduler_.worker_limits(peer.id, credit.slots, credit.memory);
}

void Core::on(Peer& peer, const protocol::Rows& rows) {
    const auto it = live_.find(rows.key.action);
    if (it == live_.end()) return;
    Action& action = it->second;
    for (Run& run : action.runs) {
        if (run.worker != peer.id || run.attempt != rows.key.attempt) continue;
        // Earlier ones were lost on the way: these come again with them, once the loss is noticed.
        if (rows.first > run.rows) return;
        const schedule::ReadyTask& task = action.requesters.front();
        std::uint64_t number = rows.first;
        for (const std::string& row : rows.rows) {
            if (number++ < run.rows) continue;  // sent again after a reconnection
            run.rows = number;
            if (task.kind != TaskKind::kMeasure) continue;
            const Status stored = campaigns_.measure_row(task.step, task.index, row, records_);
            if (!stored.ok()) log::warning(action.draft.description + ": " + stored.error().message);
        }
    }
}

void Core::lose(WorkerId id, Instant now, Loss how, const std::string& reason) {
    const auto it = peers_.find(id);
    if (it == peers_.end()) return;
    const Peer peer = std::move(it->second);
    peers_.erase(it);
    peer_ids_.erase(peer.peer);
    record_worker(peer, now);
    for (const auto& [action_id, failed] : scheduler_.worker_lost(id, how == Loss::kDied, now)) {
        Action& action = live_.at(action_id);
        std::erase_if(action.runs, [&](const Run& run) {
            if (run.worker != id) return false;
            storage::AttemptRecord record = attempt_record(action_id, run);
            record.ended = now;
            record.outcome = Outcome::kLost;
            record.message = "worker " + peer.hello.host + " " + reason;
            records_.emplace_back(std::move(record));
            interrupted_[action_id] = run;
            return true;
        });
        if (!failed) continue;
        ActionEnd end;
        end.message = "the worker died every time it ran this (" + std::to_string(options_.scheduler.max_losses) +
                      " times, the last on " + peer.hello.host + ")";
        finish(action_id, action, Outcome::kLost, end);
    }
    std::erase_if(survivors_, [&](const auto& entry) { return entry.second.first == id; });
    std::erase_if(orphans_, [&](const auto& entry) { return entry.second.first == id; });
    log::info("worker " + peer.hello.host + " left: " + reason);
}

void Core::tick(Instant now) {
    std::vector<WorkerId> silent;
    for (const auto& [id, peer] : peers_) {
        if (now - peer.last_seen > options_.dead_after) silent.push_back(id);
    }
    for (const WorkerId id : silent) lose(id, now, Loss::kDied, "has been silent");
    if (now - last_heartbeat_ >= options_.heartbeat) {
        last_heartbeat_ = now;
        for (const auto& [campaign, sums] : sums_) {
            if (graph_.state(campaign) == schedule::CampaignState::kRunning) {
                campaigns_.note_lower_bound(campaign, progress(campaign).lower_bound_s, records_);
            }
        }
        std::vector<WorkerId> gone;
        for (auto& [id, peer] : peers_) {
            if (!send(peer, protocol::CoordinatorHeartbeat{peer.sent})) gone.push_back(id);
        }
        for (const WorkerId id : gone) lose(id, now, Loss::kDied, "cannot be reached");
    }
    pump(now);
}

void Core::shut_down(bool drain, const std::string& reason) {
    stopping_ = true;
    for (const auto& [id, sums] : sums_) campaigns_.interrupt(id, records_);
    for (auto& [id, peer] : peers_) send(peer, protocol::Shutdown{drain, reason});
    submit_records();
}

std::vector<std::string> Core::missing(const std::string& toolchain, const std::string& target) const {
    std::vector<std::string> out;
    for (const auto& [id, peer] : peers_) {
        for (const protocol::Missing& missing : peer.hello.missing) {
            if (missing.toolchain == toolchain && missing.target == target) {
                out.push_back(peer.hello.host + ": " + missing.reason);
            }
        }
    }
    return out;
}

std::vector<Digest> Core::fingerprints(const CampaignRequest& request) const {
    std::set<Digest> out;
    for (const auto& [id, peer] : peers_) {
        for (const protocol::Capability& ability : peer.hello.capabilities) {
            const bool target =
                ability.target == "*" || std::count(request.targets.begin(), request.targets.end(), ability.target) > 0;
            const bool toolchain = std::any_of(request.configs.begin(), request.configs.end(), [&](const auto& config) {
                return config.config.toolchain == ability.toolchain;
            });
            if (target && toolchain) out.insert(ability.fingerprint);
        }
    }
    return {out.begin(), out.end()};
}

bool Core::can(TaskKind kind, const std::string& toolchain, const std::string& target) const {
    for (const auto& [id, peer] : peers_) {
        for (const protocol::Capability& ability : peer.hello.capabilities) {
            if (ability.verb == kind && ability.toolchain == toolchain &&
                (ability.target == target || ability.target == "*")) {
                return true;
            }
        }
    }
    return false;
}

std::vector<std::string> Core::device_targets() const {
    std::vector<std::string> out;
    for (const auto& [id, peer] : peers_) {
        for (const protocol::Device& device : peer.hello.devices) {
            if (std::find(out.begin(), out.end(), device.target) == out.end()) out.push_back(device.target);
        }
    }
    return out;
}

}  // namespace tunefarm::server
