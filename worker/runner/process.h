// SPDX-License-Identifier: MIT
// A child process that can always be got rid of: it leads a session of its own, talks over descriptors 3 and 4, its
// standard output and error are kept as a bounded log, and nothing of it survives its Process object.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/types.h"

namespace tunefarm::worker {

using Environment = std::vector<std::pair<std::string, std::string>>;

struct ProcessOptions {
    std::vector<std::string> command;  ///< program (a path, or a name searched in PATH) and its arguments
    std::string directory;             ///< working directory; empty: inherited
    Environment environment;           ///< the whole environment; nothing is inherited
    std::vector<int> cpus;             ///< may run on these; empty: inherited
    int nice = 0;                      ///< added to the worker's own
    Bytes file_size_limit;             ///< RLIMIT_FSIZE, against a runaway file; 0: none
    Bytes address_space_limit;         ///< RLIMIT_AS; 0 (default): none, GPU runtimes reserve far more than they use
    std::size_t output_limit = 16U << 10;  ///< how much of the end of its output is kept
};

/// PATH, HOME, LANG=C.UTF-8 and TMPDIR=`temporary`, then `extra` (which may replace them).
Environment clean_environment(const std::string& temporary, const Environment& extra);

struct ExitStatus {
    bool signalled = false;
    int code = 0;  ///< exit code, or the signal
    /// Killed with SIGKILL by somebody else while the kernel counted an out-of-memory kill in our control group (or on
    /// the host, where the group's counter is not readable).
    bool out_of_memory = false;
    bool success() const { return !signalled && code == 0; }
    /// "exited with 3", "killed by SIGSEGV".
    std::string describe() const;
};

/// Owned and used by one thread; the kernel kills the child when the *thread* that started it ends (prctl(2),
/// PR_SET_PDEATHSIG), so start it on a thread that outlives it.
class Process {
  public:
    static Result<std::unique_ptr<Process>> start(const ProcessOptions& options);
    /// Kills what is left.
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    pid_t pid() const { return pid_; }
    int request_fd() const { return request_.get(); }  ///< write end of the child's descriptor 3, non-blocking
    int event_fd() const { return event_.get(); }      ///< read end of descriptor 4, non-blocking
    int output_fd() const { return output_.get(); }    ///< read end of 1 and 2, non-blocking; -1 once at its end
    int exit_fd() const { return exit_.get(); }        ///< pidfd: readable once the child has ended

    void close_requests() { request_.reset(); }
    /// Moves what the child has printed into the log; at most 1 MiB per call, so that a flood cannot hold the caller.
    void drain_output();
    void clear_log() { log_.clear(); }
    /// The end of what it printed, at most `output_limit` bytes, valid UTF-8.
    std::string log_tail() const;

    /// Whether the child itself has ended. Reaps it.
    bool ended();
    /// Waits for the child itself, at most `limit`, while reading its output. True when it has ended.
    bool wait(Micros limit);
    /// Kills the child and everything that descends from it, in its group or not, and reaps it.
    void kill_tree();
    /// Precondition: ended.
    const ExitStatus& status() const { return status_; }

    /// CPU time of the child, its waited children and, once killed, of what was killed with it.
    Micros cpu() const;

  private:
    Process() = default;
    void reap(bool killed_by_us, const ::rusage& usage, int wait_status);

    pid_t pid_ = -1;
    bool ended_ = false;
    bool killed_ = false;
    ExitStatus status_;
    Micros final_cpu_{0};
    Micros orphan_cpu_{0};
    long oom_kills_before_ = 0;
    std::string cookie_;  ///< environment entry that marks descendants
    std::size_t output_limit_ = 0;
    std::string log_;
    UniqueFd request_;
    UniqueFd event_;
    UniqueFd output_;
    UniqueFd exit_;
};

/// Declares that all children of this process are Processes or stay in its own process group: descendants that lose
/// their parent become our children (PR_SET_CHILD_SUBREAPER), and are killed when they are in no live driver's group.
/// Call once, early. Without it only descendants that can still be recognised are killed.
Status become_subreaper();

/// Runs a program to its end; what it printed (at most `output_limit` bytes of the end). Failure to start, exit other
/// than 0 and the time limit are errors.
Result<std::string> run_and_capture(const ProcessOptions& options, Micros limit);

}  // namespace tunefarm::worker
