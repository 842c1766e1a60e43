// SPDX-License-Identifier: MIT
// Asks the coordinator that runs in a farm's directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "coordinator/server/coordinator_file.h"
#include "protocol/client_messages.h"
#include "protocol/socket.h"

namespace tunefarm::cli {

class FarmClient {
  public:
    /// nullopt: no coordinator runs in the directory.
    static Result<std::optional<FarmClient>> find(const std::string& directory);

    /// The JSON answer, or the coordinator's error. kUnavailable: it did not answer within `patience`; the request may
    /// have had its effect all the same.
    Result<std::string> ask(const decltype(protocol::ClientRequest::what)& what,
                            std::chrono::milliseconds patience = std::chrono::seconds(20));
    const server::CoordinatorPlace& place() const { return place_; }
    const protocol::Context& context() const { return context_; }

  private:
    FarmClient(const protocol::Context& context, protocol::ClientSocket socket, server::CoordinatorPlace place)
        : context_(context), socket_(std::move(socket)), place_(std::move(place)) {}

    protocol::Context context_;
    protocol::ClientSocket socket_;
    server::CoordinatorPlace place_;
    std::uint64_t last_ = 0;
};

}  // namespace tunefarm::cli
