// SPDX-License-Identifier: MIT
// The client's end of the artifact socket: numbered requests, answers with a time-out, and a new socket when the server
// has been silent. Internal to protocol/.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "protocol/artifact_client.h"
#include "protocol/artifact_messages.h"

namespace tunefarm::protocol {

class ArtifactChannel {
  public:
    struct Answer {
        ArtifactReply reply;
        std::string attachment;
        std::uint64_t offset = 0;  ///< what the request asked for
        std::uint32_t length = 0;
    };

    ArtifactChannel(const Context& context, std::string endpoint, ArtifactClient::Options options);

    bool tcp() const { return tcp_; }
    std::size_t in_flight() const { return in_flight_.size(); }
    std::uint64_t sockets() const { return sockets_; }

    /// Starts a call: nothing in flight, and the time to give up counts from now.
    void begin();
    /// Later answers to what is in flight are ignored.
    void forget() { in_flight_.clear(); }
    /// Whether the request was queued (false: the queue is full, read answers first). Sets its number.
    template <typename Request>
    Result<bool> send(Request request, std::uint64_t offset, std::uint32_t length, std::string_view attachment = {}) {
        request.request = next_request_;
        return send_numbered(request, offset, length, attachment);
    }
    /// The next answer to something in flight. nullopt: the server was silent, and what was in flight is lost; begin
    /// again from a known state, on the new socket. kCancelled; kUnavailable: no progress() for too long.
    Result<std::optional<Answer>> receive();
    /// The transfer moved on.
    void progress();
    /// A moment without asking; kCancelled, kUnavailable as in receive().
    Status pause(std::chrono::milliseconds duration);

  private:
    using Clock = std::chrono::steady_clock;

    Result<bool> send_numbered(const ArtifactRequest& request, std::uint64_t offset, std::uint32_t length,
                               std::string_view attachment);
    Status check() const;
    void reset();

    Context context_;
    std::string endpoint_;
    ArtifactClient::Options options_;
    bool tcp_ = false;
    std::optional<ClientSocket> socket_;
    std::uint64_t next_request_ = 1;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> in_flight_;
    Clock::time_point last_progress_ = Clock::now();
    std::uint64_t sockets_ = 0;
    std::string last_problem_;
};

}  // namespace tunefarm::protocol
