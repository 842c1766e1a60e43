// SPDX-License-Identifier: MIT
#include "worker/agent/local_queue.h"

#include <algorithm>
#include <utility>

namespace tunefarm::worker {

namespace {

bool all_unwanted(const Job& job) {
    for (std::size_t i = 0; i < job.assign.items.size(); ++i) {
        if (!job.cancelled[i] && !job.finished[i]) return false;
    }
    return true;
}

}  // namespace

LocalQueue::LocalQueue(std::uint32_t slots, std::vector<protocol::Device> devices, SlotClock& clock)
    : slots_(slots), devices_(std::move(devices)), clock_(clock) {
    std::size_t own = 0;
    for (const protocol::Device& device : devices_) own += device.slots == 0 ? 1 : 0;
    for (std::size_t i = 0; i < slots + own; ++i) waiters_.push_back(std::make_unique<Waiter>());
}

std::uint32_t LocalQueue::need(const Job& job) const {
    if (job.assign.kind != TaskKind::kMeasure) return 1;
    for (const protocol::Device& device : devices_) {
        if (device.id == job.assign.device) return std::min(device.slots, slots_);
    }
    return 1;
}

void LocalQueue::add(JobPtr job, bool ready) {
    const std::lock_guard lock(mutex_);
    job->cancelled.assign(job->assign.items.size(), false);
    job->finished.assign(job->assign.items.size(), false);
    if (closed_) return;
    queue_.push_back({std::move(job), ready});
    dispatch();
}

bool LocalQueue::inputs_ready(const JobPtr& job) {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(queue_.begin(), queue_.end(), [&](const Entry& e) { return e.job == job; });
    if (it == queue_.end()) return false;
    it->ready = true;
    dispatch();
    return true;
}

bool LocalQueue::remove(const JobPtr& job) {
    const std::lock_guard lock(mutex_);
    const auto it = std::find_if(queue_.begin(), queue_.end(), [&](const Entry& e) { return e.job == job; });
    if (it == queue_.end()) return false;
    queue_.erase(it);
    dispatch();
    return true;
}

JobPtr LocalQueue::take(std::uint32_t executor) {
    std::unique_lock lock(mutex_);
    Waiter& waiter = *waiters_.at(executor);
    waiter.waiting = true;
    dispatch();
    waiter.wake.wait(lock, [&] { return waiter.job != nullptr || closed_; });
    waiter.waiting = false;
    if (executor < slots_) clock_.leave_idle(executor);
    return std::exchange(waiter.job, nullptr);
}

void LocalQueue::done(std::uint32_t executor, const JobPtr& job) {
    const std::lock_guard lock(mutex_);
    if (executor < slots_) used_ -= need(*job);
    if (job->assign.kind == TaskKind::kMeasure) device_busy_[job->assign.device] = false;
    running_.erase(std::remove(running_.begin(), running_.end(), job), running_.end());
    dispatch();
}

bool LocalQueue::start(std::uint32_t first, std::uint32_t last, const JobPtr& job) {
    for (std::uint32_t i = first; i < last; ++i) {
        Waiter& waiter = *waiters_[i];
        if (!waiter.waiting || waiter.job != nullptr) continue;
        waiter.job = job;
        running_.push_back(job);
        if (job->assign.kind == TaskKind::kMeasure) device_busy_[job->assign.device] = true;
        if (first < slots_) used_ += need(*job);
        waiter.wake.notify_one();
        return true;
    }
    return false;
}

void LocalQueue::dispatch() {
    if (closed_) return;
    bool exclusive = false;  // a measurement waits for slots: nothing else may take them
    if (hold_reason_.empty()) {
        for (auto it = queue_.begin(); it != queue_.end();) {
            const JobPtr job = it->job;
            const bool measure = job->assign.kind == TaskKind::kMeasure;
            bool started = false;
            if (it->ready && !(measure && device_busy_[job->assign.device])) {
                const std::uint32_t slots = need(*job);
                if (slots == 0) {
                    std::uint32_t own = slots_;
                    for (const protocol::Device& device : devices_) {
                        if (device.id == job->assign.device) break;
                        own += device.slots == 0 ? 1 : 0;
                    }
                    started = start(own, own + 1, job);
                } else if (used_ + slots <= slots_ && !exclusive) {
                    started = start(0, slots_, job);
                } else if (measure) {
                    exclusive = true;
                }
            }
            it = started ? queue_.erase(it) : it + 1;
        }
    }
    // Slots that a running measurement holds idle beside it count as its, too.
    std::uint32_t held = 0;
    for (const JobPtr& job : running_) {
        if (job->assign.kind == TaskKind::kMeasure) held += std::max(need(*job), 1U) - 1;
    }
    for (std::uint32_t i = 0; i < slots_; ++i) {
        Waiter& waiter = *waiters_[i];
        if (!waiter.waiting || waiter.job != nullptr) continue;
        std::string_view reason = queue_.empty() ? std::string_view(idle_reason_) : kIdleInputs;
        if (!hold_reason_.empty()) reason = hold_reason_;
        if (exclusive) reason = kIdleExclusive;
        if (held > 0) {
            reason = kIdleExclusive;
            --held;
        }
        clock_.idle(i, reason);
    }
}

bool LocalQueue::finish_item(const JobPtr& job, std::size_t item) {
    const std::lock_guard lock(mutex_);
    job->finished.at(item) = true;
    return !job->cancelled.at(item);
}

bool LocalQueue::item_cancelled(const JobPtr& job, std::size_t item) const {
    const std::lock_guard lock(mutex_);
    return job->cancelled.at(item);
}

std::vector<JobPtr> LocalQueue::cancel(const std::vector<protocol::AttemptKey>& keys, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    const auto mark = [&](Job& job) {
        bool touched = false;
        for (std::size_t i = 0; i < job.assign.items.size(); ++i) {
            if (std::find(keys.begin(), keys.end(), job.assign.items[i].key) == keys.end()) continue;
            job.cancelled[i] = touched = true;
            job.cancel_reason = reason;
        }
        return touched && all_unwanted(job);
    };
    std::vector<JobPtr> dropped;
    for (auto it = queue_.begin(); it != queue_.end();) {
        if (mark(*it->job)) {
            it->job->token.cancel();
            dropped.push_back(it->job);
            it = queue_.erase(it);
        } else {
            ++it;
        }
    }
    for (const JobPtr& job : running_) {
        if (mark(*job)) job->token.cancel();
    }
    dispatch();
    return dropped;
}

std::vector<protocol::AttemptKey> LocalQueue::attempts() const {
    const std::lock_guard lock(mutex_);
    std::vector<protocol::AttemptKey> keys;
    const auto add = [&](const Job& job) {
        for (std::size_t i = 0; i < job.assign.items.size(); ++i) {
            if (!job.finished[i]) keys.push_back(job.assign.items[i].key);
        }
    };
    for (const JobPtr& job : running_) add(*job);
    for (const Entry& entry : queue_) add(*entry.job);
    return keys;
}

bool LocalQueue::measuring() const {
    const std::lock_guard lock(mutex_);
    return std::any_of(running_.begin(), running_.end(),
                       [](const JobPtr& job) { return job->assign.kind == TaskKind::kMeasure; });
}

bool LocalQueue::idle() const {
    const std::lock_guard lock(mutex_);
    return running_.empty();
}

void LocalQueue::set_idle_reason(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    idle_reason_ = reason;
    dispatch();
}

void LocalQueue::hold(std::string_view reason) {
    const std::lock_guard lock(mutex_);
    hold_reason_ = reason;
    dispatch();
}

void LocalQueue::release() {
    const std::lock_guard lock(mutex_);
    hold_reason_.clear();
    dispatch();
}

void LocalQueue::close(bool cancel_running, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    queue_.clear();
    for (const JobPtr& job : running_) {
        if (!cancel_running) break;
        job->cancel_reason = reason;
        job->token.cancel();
    }
    for (const auto& waiter : waiters_) waiter->wake.notify_all();
}

}  // namespace tunefarm::worker
