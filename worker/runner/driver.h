// SPDX-License-Identifier: MIT
// One driver process and the protocol of docs/drivers.md over it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/types.h"
#include "worker/runner/driver_events.h"
#include "worker/runner/process.h"

namespace tunefarm::worker {

struct DriverOptions {
    std::string toolchain;  ///< for messages; the driver's hello must name the same
    std::vector<std::string> command;
    std::string directory;    ///< working directory, exists
    Environment environment;  ///< complete (clean_environment)
    std::vector<int> cpus;    ///< empty: inherited
    int nice = 0;
    Micros hello_limit{30'000'000};
    /// Time for the driver to answer `cancel` before it is killed. Long enough for one that listens, short enough
    /// that a slot does not wait for one that does not.
    Micros cancel_grace{250'000};
    std::size_t max_line = 1U << 20;
    /// All events of one request together; a driver that passes it talks in circles.
    std::int64_t max_event_bytes = std::int64_t{1} << 28;
    Bytes file_size_limit;  ///< 0: none
};

/// Asks a running request to stop; one per request. Any thread may cancel, before or during the request.
class CancelToken {
  public:
    CancelToken();
    void cancel();
    bool cancelled() const { return cancelled_.load(); }
    int fd() const { return fd_.get(); }  ///< readable once cancelled

  private:
    std::atomic<bool> cancelled_{false};
    UniqueFd fd_;
};

struct DriverRequest {
    std::string verb;
    std::string target;
    std::string dir;  ///< empty directory, private to the request
    std::vector<std::pair<std::string, std::string>> inputs;
    std::string args;      ///< JSON object
    Micros time_limit{0};  ///< from the start of execution; 0: none
    Bytes memory_limit;    ///< resident memory of the driver's whole tree; 0: none
};

/// Called on the thread that runs the request. A `row` that returns false stops the request (the driver is killed).
struct DriverCallbacks {
    std::function<bool(std::string row)> row;
    std::function<void(std::string line)> log;
    std::function<void(std::int64_t done, std::int64_t total)> progress;
};

/// How a request ended. When the driver could not go on (`driver_lost`), it and all its descendants are gone.
struct DriverReply {
    Outcome outcome = Outcome::kOk;
    bool driver_lost = false;
    std::string message;  ///< for people, when not ok
    std::string path;     ///< configuration errors: the place in the config
    std::string allowed;
    std::string log;  ///< end of what the driver printed during the request, then the error's own log
    std::string result = "{}";
    OutputPaths outputs;  ///< as told; open them with open_output()
    std::vector<protocol::Phase> phases;
    Micros elapsed{0};
    /// The driver (its own CPU clock) and the children it has waited for (10 ms ticks); when it ended, all of both
    /// (rusage) and what was killed with it.
    Micros cpu{0};
    /// Largest sum of the resident sets of the tree, sampled every 50 ms, and of the driver at the end; pages shared
    /// inside the tree count once per process. Before a limit ends an attempt, the sum is taken again with shared pages
    /// divided.
    Bytes peak_memory;
};

/// Used by one thread, which must outlive it (see Process). At most one request at a time.
class Driver {
  public:
    explicit Driver(DriverOptions options);
    ~Driver();

    /// Starts the process and reads its hello. kUnavailable, kTimeout or kCorruption (it spoke garbage), with the end
    /// of its log in the message.
    Status start();
    bool running() const { return process_ != nullptr; }
    /// Precondition: running().
    const DriverHello& hello() const { return hello_; }
    pid_t pid() const { return process_ ? process_->pid() : -1; }

    /// Precondition: running(). Blocks until the request has ended, one way or another.
    DriverReply run(const DriverRequest& request, CancelToken& token, const DriverCallbacks& callbacks);

    /// For a row's own share of a request: CPU time so far, and the largest memory sample since the last call.
    Micros cpu() const { return process_ ? process_->cpu() : Micros{0}; }
    /// Resident memory of the process itself now; 0 when it does not run.
    Bytes resident() const;
    Bytes take_peak() { return std::exchange(recent_peak_, Bytes{}); }

    /// Closes descriptor 3, waits 2 s for the driver to end, then kills. No process is left behind.
    void stop();
    /// At once.
    void kill();

  private:
    class Conversation;
    DriverOptions options_;
    std::unique_ptr<Process> process_;
    DriverHello hello_;
    std::string buffer_;  ///< bytes of descriptor 4 after the last whole line
    Bytes recent_peak_;
    std::int64_t next_id_ = 1;
};

}  // namespace tunefarm::worker
