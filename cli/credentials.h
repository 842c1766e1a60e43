// SPDX-License-Identifier: MIT
// From the key files that a command is given to what its sockets need. Nothing here speaks TCP without keys unless
// `insecure` was typed.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "cli/commands.h"
#include "coordinator/server/coordinator_file.h"
#include "coordinator/server/server.h"
#include "protocol/socket.h"

namespace tunefarm::cli {

/// What a socket to a coordinator is made with.
struct Credentials {
    std::optional<protocol::CurveClient> curve;
    bool insecure = false;
};

/// For `worker`: over TCP both files, or --insecure; over ipc both or none. kInput also: not a worker's key.
Result<Credentials> worker_credentials(const KeyOptions& options, const std::string& endpoint);

/// For a command that asks the coordinator of a directory, whose key stands in coordinator.json. A key that such a
/// coordinator does not want is left aside. kInput: it wants one and there is none, or not one that may ask.
Result<Credentials> client_credentials(const KeyOptions& options, const server::CoordinatorPlace& place);

/// For `coordinator`: its own key and those who may connect; nullopt without --key.
Result<std::optional<server::ServerKeys>> coordinator_keys(const CoordinatorOptions& options);

}  // namespace tunefarm::cli
