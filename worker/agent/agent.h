// SPDX-License-Identifier: MIT
// The worker agent: one per host. Talks to the coordinator, executes assignments in slots, keeps results until they are
// acknowledged. Threads: the caller of run() owns the control socket; one thread per slot (and per device that takes
// no slot) with its drivers; one fetches inputs, one uploads outputs. They share queues, never sockets.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "protocol/curve.h"
#include "protocol/messages.h"
#include "worker/devices/device.h"
#include "worker/runner/process.h"

namespace tunefarm::worker {

struct ToolchainDriver {
    std::string name;                  ///< the toolchain that its hello must name
    std::vector<std::string> command;  ///< from the worker's own configuration, never from the network
    Environment environment;           ///< added to the clean environment
};

struct AgentOptions {
    std::string endpoint;  ///< of the coordinator's control socket
    std::optional<protocol::CurveClient> curve;
    bool insecure = false;  ///< TCP without CURVE
    std::string host;       ///< empty: the host's name
    std::uint32_t slots = 1;
    Bytes memory;           ///< 0: what the host has
    std::string state_dir;  ///< outbox, cache, private task directories; one agent at a time (locked)
    Bytes cache_limit{std::int64_t{20} << 30};
    std::vector<ToolchainDriver> drivers;
    std::vector<int> cpus;  ///< drivers run on these; empty: inherited
    int nice = 0;           ///< of drivers
    /// Devices of this host, in the order of their announcement. Not owned; outlive the agent.
    std::vector<const DeviceKind*> devices;
    Micros give_up{600'000'000};     ///< without a coordinator for so long, the agent stops
    Micros drain_limit{10'000'000};  ///< how long a leaving agent waits for acknowledgements
    bool exit_with_parent = false;   ///< stop when the process that started this one ends
    bool subreaper = true;           ///< see become_subreaper(); false where the process has children of its own
};

class Agent {
  public:
    explicit Agent(AgentOptions options);
    ~Agent();
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    /// Blocks until told to stop, by request_stop() or the coordinator; 0. kUnsupported: refused by the coordinator;
    /// kUnavailable: no coordinator for `give_up`, or another agent holds the state directory; kIo and kNoSpace from
    /// the state directory. When it returns no driver is left.
    Result<int> run();
    /// Finish what runs if `drain`, else stop it. Any thread and any signal handler.
    void request_stop(bool drain);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tunefarm::worker
