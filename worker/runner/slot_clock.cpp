// SPDX-License-Identifier: MIT
#include "worker/runner/slot_clock.h"

namespace tunefarm::worker {

SlotClock::SlotClock(std::uint32_t slots, Now now) : now_(std::move(now)), opened_(now_()), slots_(slots) {
    for (Slot& slot : slots_) {
        slot.reason = kIdleStarting;
        slot.idle_since = opened_;
    }
}

void SlotClock::close_idle(Slot& slot, Micros now) {
    if (slot.reason.empty()) return;
    idle_[slot.reason] += now - slot.idle_since;
    slot.reason.clear();
}

void SlotClock::idle(std::uint32_t slot, std::string_view reason) {
    const std::lock_guard lock(mutex_);
    Slot& entry = slots_.at(slot);
    if (entry.reason == reason) return;
    const Micros now = now_();
    close_idle(entry, now);
    entry.reason = reason;
    entry.idle_since = now;
}

void SlotClock::leave_idle(std::uint32_t slot) {
    const std::lock_guard lock(mutex_);
    close_idle(slots_.at(slot), now_());
}

void SlotClock::begin_busy(std::uint32_t slot, TaskKind kind, Micros started) {
    const std::lock_guard lock(mutex_);
    Slot& entry = slots_.at(slot);
    entry.busy = true;
    entry.kind = kind;
    entry.busy_since = started;
}

void SlotClock::end_busy(std::uint32_t slot, Micros ended) {
    const std::lock_guard lock(mutex_);
    Slot& entry = slots_.at(slot);
    if (!entry.busy) return;
    busy_[static_cast<std::size_t>(entry.kind)] += ended - entry.busy_since;
    entry.busy = false;
}

protocol::SlotAccount SlotClock::account() const {
    const std::lock_guard lock(mutex_);
    const Micros now = now_();
    protocol::SlotAccount account;
    account.slots = static_cast<std::uint32_t>(slots_.size());
    account.wall = now - opened_;
    account.busy = busy_;
    auto idle = idle_;
    for (const Slot& slot : slots_) {
        if (slot.busy) account.busy[static_cast<std::size_t>(slot.kind)] += now - slot.busy_since;
        if (!slot.reason.empty()) idle[slot.reason] += now - slot.idle_since;
    }
    account.idle.assign(idle.begin(), idle.end());
    return account;
}

}  // namespace tunefarm::worker
