// SPDX-License-Identifier: MIT
#include "cli/farm_client.h"

#include <utility>

namespace tunefarm::cli {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

Result<std::optional<FarmClient>> FarmClient::find(const std::string& directory, const KeyOptions& keys) {
    TUNEFARM_ASSIGN(auto place, server::find_coordinator(directory));
    if (!place) return std::optional<FarmClient>();
    TUNEFARM_ASSIGN(Credentials credentials, client_credentials(keys, *place));
    protocol::Context context;
    protocol::ClientSocket::Options options;
    options.curve = credentials.curve;
    options.insecure = credentials.insecure;
    TUNEFARM_ASSIGN(protocol::ClientSocket socket, protocol::ClientSocket::connect(context, place->endpoint, options));
    return std::optional(FarmClient(context, std::move(socket), *std::move(place), std::move(credentials)));
}

Result<std::string> FarmClient::ask(const decltype(protocol::ClientRequest::what)& what, milliseconds patience) {
    const protocol::ClientRequest request{++last_, what};
    if (socket_.send(protocol::encode(request)) != protocol::Sent::kSent) {
        return Error{ErrorKind::kUnavailable, place_.endpoint + ": cannot be reached"};
    }
    const Clock::time_point limit = Clock::now() + patience;
    std::string trouble;
    while (Clock::now() < limit) {
        protocol::wait({socket_}, milliseconds(100));
        while (const auto incoming = socket_.receive()) {
            TUNEFARM_ASSIGN(protocol::ClientReply reply, protocol::decode_client_reply(incoming->payload));
            if (reply.request != request.request) continue;  // of a request that was given up
            if (reply.ok) return std::move(reply.answer);
            return Error{reply.kind, reply.message};
        }
        const auto refusal = socket_.refusal();
        if (refusal && refusal->key_refused) {
            return Error{ErrorKind::kUnsupported,
                         place_.endpoint +
                             ": the coordinator does not accept this key: its .pub must be on the "
                             "coordinator's allow list"};
        }
        if (refusal) trouble = ": " + refusal->reason;
    }
    return Error{ErrorKind::kUnavailable, "the coordinator (process " + std::to_string(place_.pid) + " on " +
                                              place_.host + ", " + place_.endpoint + ") does not answer" + trouble};
}

}  // namespace tunefarm::cli
