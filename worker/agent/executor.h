// SPDX-License-Identifier: MIT
// Executes assignments on one slot with that slot's own long-lived drivers. One executor per slot thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/agent/agent.h"
#include "worker/agent/content_store.h"
#include "worker/agent/local_queue.h"
#include "worker/agent/transfers.h"
#include "worker/runner/driver.h"
#include "worker/runner/fingerprint.h"
#include "worker/runner/slot_clock.h"

namespace tunefarm::worker {

/// Rows of running attempts on their way to the coordinator. Thread-safe.
class RowStream {
  public:
    void push(const protocol::AttemptKey& key, std::string row);
    /// What has come since the last call.
    std::vector<std::pair<protocol::AttemptKey, std::string>> take();

  private:
    std::mutex mutex_;
    std::vector<std::pair<protocol::AttemptKey, std::string>> rows_;
};

/// What a toolchain's driver said at its first start.
struct Probe {
    std::vector<protocol::Capability> capabilities;
    std::vector<protocol::Missing> missing;
};

/// What all executors share; owned by the agent.
struct SlotContext {
    const AgentOptions& options;
    LocalQueue& queue;
    ContentStore& store;
    Transfers& transfers;
    SlotClock& clock;
    FileDigests& files;
    RowStream& rows;
    std::function<Micros()> now;      ///< monotonic
    std::function<void()> disk_full;  ///< a task failed for want of space
    std::function<std::vector<int>(const std::string& device)> measuring_cpus;
    std::map<std::string, Probe> probes;  ///< by toolchain; written before the slots start to take jobs
};

class Executor {
  public:
    Executor(SlotContext& context, std::uint32_t number);
    ~Executor();

    /// Starts the driver of a toolchain, which then serves this slot.
    Probe probe(const ToolchainDriver& toolchain);
    /// Reports every item of the job.
    void execute(const JobPtr& job);

  private:
    struct Span {
        Micros started{0};
        Micros ended{0};
    };
    const ToolchainDriver* find(const std::string& toolchain) const;
    Result<std::unique_ptr<Driver>> make_driver(const ToolchainDriver& toolchain, const std::vector<int>& cpus);
    /// The slot's driver, started if it does not run and checked against the announced fingerprints.
    Result<Driver*> driver_for(const ToolchainDriver& toolchain);
    Environment environment(const ToolchainDriver& toolchain) const;

    void run_single(const JobPtr& job, Micros started);
    void run_builds(const JobPtr& job, Micros started);
    /// One request with these items; returns how those without a row ended, which `left` then holds.
    protocol::AttemptResult run_build_request(const JobPtr& job, const std::vector<std::size_t>& items,
                                              std::vector<std::size_t>& left, Micros& mark);
    void run_measure(const JobPtr& job, Micros started);
    void run_noops(const JobPtr& job, Micros started);

    /// Makes the request's private directories and lays out its inputs. kCorruption: an input is not here any more.
    Result<std::vector<std::pair<std::string, std::string>>> stage(const Job& job, const std::string& root);
    Result<std::vector<protocol::Output>> take_outputs(const std::string& dir, const OutputPaths& paths,
                                                       std::vector<Digest>& pinned);
    /// `root` still holds what the request wrote.
    protocol::AttemptResult result_of(const DriverReply& reply, const std::string& root);
    /// A failure for want of space: the disk's (then the worker pauses), or the request's own.
    void blame_for_space(protocol::AttemptResult& result, const std::string& root);
    void report(const JobPtr& job, std::size_t item, protocol::AttemptResult result, Span span,
                std::vector<Digest> outputs = {}, std::vector<std::string> rows = {});
    void report_all(const JobPtr& job, Outcome outcome, const std::string& message, Micros started);
    /// A driver that has grown beyond its bound while it did its work is ended; the next request starts another.
    void replace_if_grown(const std::string& toolchain);
    std::string new_root();
    /// A directory that an earlier request left empty, or a new name. Making one costs more than a tiny task.
    std::string empty_root();
    /// Removes the directory, or keeps it for empty_root() if the request wrote nothing.
    void leave_root(const Job& job, const std::string& root, const DriverReply& reply);
    /// What came of inputs that changed or vanished meanwhile is worth nothing, good or bad: the attempt is lost.
    void distrust_changed_inputs(const Job& job, protocol::AttemptResult& result) const;
    /// Why a request that failed for want of space did so: `root` itself holds what the disk lacks.
    std::optional<std::string> filled_the_disk(const std::string& root) const;
    /// Without consequences: kNoSpace still needs blame_for_space() or disk_full().
    static Outcome failure_outcome(const Error& error);
    Outcome stage_outcome(const Error& error);
    bool no_space() const;

    SlotContext& context_;
    const std::uint32_t number_;
    const std::string directory_;
    std::uint64_t next_root_ = 0;
    std::string spare_root_;  ///< empty: none
    std::map<std::string, std::unique_ptr<Driver>> drivers_;
};

}  // namespace tunefarm::worker
