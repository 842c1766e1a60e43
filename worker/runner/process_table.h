// SPDX-License-Identifier: MIT
// Snapshots of /proc (proc(5)): who descends from whom, how much memory and CPU time a tree uses.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"

namespace tunefarm::worker {

/// One line of /proc/<pid>/stat.
struct ProcessInfo {
    pid_t pid = 0;
    pid_t parent = 0;
    pid_t group = 0;
    pid_t session = 0;
    char state = '?';
    Micros own_cpu{0};              ///< user + system of the process, in clock ticks of 10 ms
    Micros waited_cpu{0};           ///< user + system of its children that have been waited for
    std::uint64_t start_ticks = 0;  ///< with the pid, names a process uniquely
    Bytes resident;
};

/// nullopt when the process is gone.
std::optional<ProcessInfo> read_process(pid_t pid);

/// Every process that this one may see, in no particular order.
std::vector<ProcessInfo> list_processes();

/// `root` and whatever descends from it, shares its session (drivers lead a session of their own) or descends from
/// such a process. Precondition: `root` leads its session.
std::vector<ProcessInfo> tree_of(pid_t root, const std::vector<ProcessInfo>& all);

/// Proportional set size (shared pages divided among their users); nullopt when the kernel does not tell.
std::optional<Bytes> proportional_set_size(pid_t pid);

/// Snapshots shared by all slots, so that the cost of reading /proc does not grow with their number. Thread-safe.
class ProcessTable {
  public:
    using Snapshot = std::shared_ptr<const std::vector<ProcessInfo>>;
    /// A snapshot of at most `max_age`; on hosts with very many processes an older one, so that reading /proc stays
    /// below 2 % of one CPU.
    Snapshot snapshot(std::chrono::milliseconds max_age);

  private:
    std::mutex mutex_;
    Snapshot last_;
    std::chrono::steady_clock::time_point taken_;
    std::chrono::steady_clock::duration cost_{0};
};

/// The table that all drivers of this process share.
ProcessTable& process_table();

}  // namespace tunefarm::worker
