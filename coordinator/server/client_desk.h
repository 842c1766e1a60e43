// SPDX-License-Identifier: MIT
// What the coordinator answers to clients. The shapes of the answers: docs/protocol.md, "Clients".
#pragma once

#include "base/types.h"
#include "coordinator/server/core.h"
#include "coordinator/server/submissions.h"
#include "protocol/client_messages.h"

namespace tunefarm::server {

/// The request changes the farm: its reply must wait until that is durable.
bool changes(const protocol::ClientRequest& request);

/// What a request may touch.
struct Desk {
    Core& core;
    Submissions& submissions;
    Artifacts& artifacts;
};

/// Never fails: what cannot be done is a reply that says so. Precondition of a retry: as in Submissions.
protocol::ClientReply answer(const Desk& desk, const protocol::ClientRequest& request, Instant now);

}  // namespace tunefarm::server
