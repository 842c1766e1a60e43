// SPDX-License-Identifier: MIT
// Asks the coordinator that runs in a farm's directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/credentials.h"
#include "coordinator/server/coordinator_file.h"
#include "protocol/client_messages.h"
#include "protocol/socket.h"

namespace tunefarm::cli {

class FarmClient {
  public:
    /// nullopt: no coordinator runs in the directory. kInput: not with these keys (see client_credentials).
    static Result<std::optional<FarmClient>> find(const std::string& directory, const KeyOptions& keys);

    /// The JSON answer, or the coordinator's error. kUnavailable: it did not answer within `patience`; the request may
    /// have had its effect all the same. kUnsupported also: it does not accept the key, or not for this.
    Result<std::string> ask(const decltype(protocol::ClientRequest::what)& what,
                            std::chrono::milliseconds patience = std::chrono::seconds(20));
    const server::CoordinatorPlace& place() const { return place_; }
    const protocol::Context& context() const { return context_; }
    const Credentials& credentials() const { return credentials_; }

  private:
    FarmClient(const protocol::Context& context, protocol::ClientSocket socket, server::CoordinatorPlace place,
               Credentials credentials)
        : context_(context),
          socket_(std::move(socket)),
          place_(std::move(place)),
          credentials_(std::move(credentials)) {}

    protocol::Context context_;
    protocol::ClientSocket socket_;
    server::CoordinatorPlace place_;
    Credentials credentials_;
    std::uint64_t last_ = 0;
};

}  // namespace tunefarm::cli
