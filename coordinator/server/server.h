// SPDX-License-Identifier: MIT
// The coordinator in the real world: sockets, threads, the database and the artifact store around Core. One thread
// calls everything here; behind it run the database writer and the artifact server.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/server/core.h"
#include "coordinator/server/submissions.h"
#include "protocol/curve.h"
#include "storage/writer.h"

namespace tunefarm::server {

/// Who may connect: the coordinator's own key, and those of its workers and clients.
struct ServerKeys {
    protocol::CurveServer own;
    std::vector<protocol::AllowedKey> allowed;
};

struct ServerOptions {
    std::string directory;           ///< holds tunefarm.db and artifacts/; made if missing
    std::string control_endpoint;    ///< "ipc:///run/x/control", "tcp://0.0.0.0:7600", "tcp://127.0.0.1:*"
    std::string artifacts_endpoint;  ///< of the same kind
    std::optional<ServerKeys> keys;  ///< for both sockets; TCP needs them
    bool insecure = false;           ///< TCP without keys: whoever reaches the address may run code here
    /// Sees what is about to be queued for the database, on the caller's thread of Server. For benchmarks and tests.
    std::function<void(const std::vector<storage::Record>&)> on_records;
};

/// File names within a farm's directory.
std::string database_path(const std::string& directory);
std::string artifacts_path(const std::string& directory);

/// While it lives, the directory's coordinator.json says where it listens (coordinator_file.h).
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

    /// As in Submissions, which says more of all four.
    Result<Submitted> submit(CampaignRequest request);
    Result<std::vector<std::string>> take_up_open_campaigns();
    /// The campaign runs on return. kInput also: not with the toolchains that are connected.
    Result<CampaignId> retry(CampaignId campaign, bool forget);
    /// Campaigns that began or went on since the last call.
    std::vector<Submitted> take_begun();

    /// One turn of the loop: waits up to `timeout` for messages and commits, then handles all that is there. An error
    /// is final (the database is broken).
    Status turn(std::chrono::milliseconds timeout);
    /// Waits until everything is durable.
    Status flush();
    /// Empty when all is well, else why nothing is being committed now ("disk full …").
    std::string storage_trouble() const;
    storage::WriterStats storage_stats() const;

  private:
    struct Impl;
    explicit Server(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tunefarm::server
