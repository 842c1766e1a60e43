// SPDX-License-Identifier: MIT
// Assignments between their arrival and their slot. Knows which slot may start what: at most `slots` at a time, a
// measurement takes the slots of its device, and others hold back so that it gets its turn.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protocol/messages.h"
#include "worker/runner/driver.h"
#include "worker/runner/slot_clock.h"

namespace tunefarm::worker {

/// One assignment on this worker.
struct Job {
    protocol::Assign assign;
    Micros arrived{0};  ///< monotonic
    CancelToken token;  ///< cancelled once no item is wanted any more

    std::atomic<bool> pinned{false};  ///< its inputs are held in the content store

    /// The fields below are guarded by the queue.
    std::vector<bool> cancelled;  ///< by item
    std::vector<bool> finished;   ///< by item: its result is on its way
    std::string cancel_reason;
};
using JobPtr = std::shared_ptr<Job>;

/// Thread-safe; each slot waits on its own condition variable, so an arrival wakes one thread.
class LocalQueue {
  public:
    /// `devices`: those with slots == 0 have an executor of their own, numbered from `slots` on in their order.
    LocalQueue(std::uint32_t slots, std::vector<protocol::Device> devices, SlotClock& clock);

    std::uint32_t executors() const { return static_cast<std::uint32_t>(waiters_.size()); }

    /// Inputs are here if `ready`; otherwise call inputs_ready() later.
    void add(JobPtr job, bool ready);
    /// False when the job no longer waits (cancelled).
    bool inputs_ready(const JobPtr& job);
    /// Takes out a job that never started (its inputs cannot be had). False when it was not waiting.
    bool remove(const JobPtr& job);

    /// Blocks until there is something for this executor; null when closed. The slot clock says meanwhile why it waits.
    JobPtr take(std::uint32_t executor);
    void done(std::uint32_t executor, const JobPtr& job);

    /// Marks an item of a running job; false if it was cancelled before.
    bool finish_item(const JobPtr& job, std::size_t item);
    bool item_cancelled(const JobPtr& job, std::size_t item) const;

    /// Cancels attempts. Jobs that were still waiting and are not wanted any more are returned: they will not run.
    std::vector<JobPtr> cancel(const std::vector<protocol::AttemptKey>& keys, const std::string& reason);

    /// Every attempt that waits or runs.
    std::vector<protocol::AttemptKey> attempts() const;
    bool measuring() const;
    bool idle() const;  ///< nothing runs

    /// Why a slot without work has none: "no work", "starting", "disconnected", "draining".
    void set_idle_reason(std::string_view reason);
    /// Starts nothing from now on; waiting jobs are dropped.
    void hold(std::string_view reason);
    void release();
    /// Drops what waits, wakes every executor with null, and cancels what runs.
    void close(bool cancel_running, const std::string& reason);

  private:
    struct Waiter {
        std::condition_variable wake;
        bool waiting = false;
        JobPtr job;
    };
    struct Entry {
        JobPtr job;
        bool ready = false;
    };
    std::uint32_t need(const Job& job) const;
    void dispatch();  // with mutex_ held
    bool start(std::uint32_t first, std::uint32_t last, const JobPtr& job);

    const std::uint32_t slots_;
    const std::vector<protocol::Device> devices_;
    SlotClock& clock_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Waiter>> waiters_;
    std::deque<Entry> queue_;
    std::vector<JobPtr> running_;
    std::map<std::string, bool> device_busy_;
    std::uint32_t used_ = 0;
    std::string idle_reason_{kIdleStarting};
    std::string hold_reason_;
    bool closed_ = false;
};

}  // namespace tunefarm::worker
