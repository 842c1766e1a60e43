// SPDX-License-Identifier: MIT
// A farm on this host for the time of one command: a coordinator in this process and a worker process of its own,
// joined over ipc:// in a private directory.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/commands.h"
#include "coordinator/server/server.h"

namespace tunefarm::cli {

class LocalFarm {
  public:
    /// Starts both and returns when the worker has said hello. `directory` gets tunefarm.db, artifacts/, worker/ and
    /// worker.log. `interrupted` is asked while it waits; true ends the start with kCancelled.
    static Result<std::unique_ptr<LocalFarm>> start(const std::string& directory, std::uint32_t slots,
                                                    const std::vector<std::string>& drivers,
                                                    const std::function<bool()>& interrupted = {});
    /// Stops the worker (kills it after 2 s) and removes the sockets.
    ~LocalFarm();
    LocalFarm(const LocalFarm&) = delete;
    LocalFarm& operator=(const LocalFarm&) = delete;

    server::Server& server() { return *server_; }
    server::Core& core() { return server_->core(); }

    /// Server::turn, and the worker process is watched: one that died is started again, up to three times.
    Status turn(std::chrono::milliseconds timeout);
    /// Tells the worker to stop, waits for its last words, makes everything durable. Work that runs is stopped unless
    /// `drain`.
    Status stop(bool drain, const std::string& reason);

  private:
    LocalFarm() = default;
    Status start_worker();
    bool worker_ended();
    std::string worker_log_tail() const;

    std::string directory_;
    std::string sockets_;
    std::uint32_t slots_ = 1;
    std::vector<std::string> drivers_;
    std::unique_ptr<server::Server> server_;
    int worker_pid_ = -1;
    bool joined_ = false;  ///< a worker of this run was in the farm
    int restarts_ = 0;
};

}  // namespace tunefarm::cli
