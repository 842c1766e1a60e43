// SPDX-License-Identifier: MIT
// What a client (a command of a user) asks of a coordinator over its control socket, and the reply. A client says no
// hello: each request stands for itself and gets one reply, which repeats its number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "protocol/messages.h"

namespace tunefarm::protocol {

/// Why tasks have not ended. Answer: docs/protocol.md, "explain".
struct ExplainTasks {
    CampaignId campaign;               ///< none: all that run
    std::optional<std::int32_t> step;  ///< number of the unit in its config, as `plan` and `results` show it
    std::optional<TaskKind> kind;
    std::optional<std::int32_t> index;  ///< kernel of a build, problem of a measurement
    bool operator==(const ExplainTasks&) const = default;
};

/// The campaign's requests are withdrawn; what other campaigns want goes on. The reply comes when that is durable.
struct CancelCampaign {
    CampaignId campaign;
    bool operator==(const CancelCampaign&) const = default;
};

/// How far a campaign of this coordinator is, and how it ended.
struct CampaignProgress {
    CampaignId campaign;
    bool operator==(const CampaignProgress&) const = default;
};

/// A campaign, as `run` would begin it. The configs' bytes are in the coordinator's artifact store already.
struct SubmitCampaign {
    struct Config {
        std::string path;
        Digest content;
        bool operator==(const Config&) const = default;
    };
    std::string name;
    std::vector<std::string> targets;  ///< none: the first connected device's
    bool build_only = false;
    std::int32_t priority = 0;
    std::vector<Config> configs;
    bool operator==(const SubmitCampaign&) const = default;
};

/// The failed and cancelled steps of an ended campaign wait again, and it goes on.
struct RetryCampaign {
    CampaignId campaign;  ///< none: the latest
    bool forget = false;  ///< failures of its actions are not answered from the cache any more
    bool operator==(const RetryCampaign&) const = default;
};

struct ClientRequest {
    std::uint64_t request = 0;
    std::variant<ExplainTasks, CancelCampaign, CampaignProgress, SubmitCampaign, RetryCampaign> what;
    bool operator==(const ClientRequest&) const = default;
};

struct ClientReply {
    std::uint64_t request = 0;
    bool ok = false;
    std::string answer;                     ///< JSON object, when ok
    ErrorKind kind = ErrorKind::kInternal;  ///< when not ok
    std::string message;                    ///< for people, when not ok
    bool operator==(const ClientReply&) const = default;
};

/// Everything that may arrive at the coordinator's control socket.
using ToCoordinator = std::variant<FromWorker, ClientRequest>;

/// Limits and errors as in codec.h.
std::string encode(const ClientRequest& request);
std::string encode(const ClientReply& reply);
/// The one place where a worker's frame and a client's are told apart.
Result<ToCoordinator> decode_to_coordinator(std::string_view frame);
/// What a coordinator that does not know the request sends is its refusal: kUnsupported with its reason.
Result<ClientReply> decode_client_reply(std::string_view frame);

}  // namespace tunefarm::protocol
