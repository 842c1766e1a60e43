// SPDX-License-Identifier: MIT
// The coordinator in the real world: sockets, threads, the database and the artifact store around Core. One thread
// calls everything here; behind it run the database writer and the artifact server.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/server/core.h"

namespace tunefarm::server {

struct ServerOptions {
    std::string directory;           ///< holds tunefarm.db and artifacts/; made if missing
    std::string control_endpoint;    ///< "ipc:///run/x/control"
    std::string artifacts_endpoint;  ///< "ipc:///run/x/artifacts"
};

/// File names within a farm's directory.
std::string database_path(const std::string& directory);
std::string artifacts_path(const std::string& directory);

Instant wall_clock();

class Server {
  public:
    /// kUnavailable: another coordinator has the directory open.
    static Result<std::unique_ptr<Server>> start(const ServerOptions& options);
    /// Commits what is queued.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    const std::string& control_endpoint() const;
    Core& core();

    struct Submitted {
        CampaignId campaign;
        bool resumed = false;  ///< an unfinished campaign of the same command goes on
    };
    Result<Submitted> submit(const CampaignRequest& request);

    /// One turn of the loop: waits up to `timeout` for messages and commits, then handles all that is there. An error
    /// is final (the database is broken).
    Status turn(std::chrono::milliseconds timeout);
    /// Waits until everything is durable.
    Status flush();
    /// Empty when all is well, else why nothing is being committed now ("disk full …").
    std::string storage_trouble() const;

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tunefarm::server
