// SPDX-License-Identifier: MIT
// What the coordinator answers to clients. The shapes of the answers: docs/protocol.md, "Clients".
#pragma once

#include "base/types.h"
#include "coordinator/server/core.h"
#include "protocol/client_messages.h"

namespace tunefarm::server {

/// The request changes the farm: its reply must wait until that is durable.
bool changes(const protocol::ClientRequest& request);

/// Never fails: what cannot be done is a reply that says so.
protocol::ClientReply answer(Core& core, const protocol::ClientRequest& request, Instant now);

}  // namespace tunefarm::server
