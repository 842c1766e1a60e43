// SPDX-License-Identifier: MIT
#include "protocol/artifact_channel.h"

#include <algorithm>
#include <thread>

#include "protocol/limits.h"

namespace tunefarm::protocol {
namespace {

/// How soon a stop flag is noticed.
constexpr std::chrono::milliseconds kSlice{20};
constexpr int kHighWater = 64;

}  // namespace

ArtifactChannel::ArtifactChannel(const Context& context, std::string endpoint, ArtifactClient::Options options)
    : context_(context),
      endpoint_(std::move(endpoint)),
      options_(std::move(options)),
      tcp_(endpoint_.starts_with("tcp://")) {
    options_.socket.max_frame = kMaxArtifactFrame;
    options_.socket.high_water = kHighWater;
    // Unsent requests of a socket that is given up are worth nothing.
    options_.socket.linger = std::chrono::milliseconds(0);
}

void ArtifactChannel::begin() {
    in_flight_.clear();
    last_problem_.clear();
    progress();
}

void ArtifactChannel::progress() {
    last_progress_ = Clock::now();
}

void ArtifactChannel::reset() {
    in_flight_.clear();
    socket_.reset();
}

Status ArtifactChannel::check() const {
    if (options_.stop != nullptr && options_.stop->load()) return Error{ErrorKind::kCancelled, "transfer stopped"};
    if (Clock::now() - last_progress_ > options_.give_up) {
        return Error{ErrorKind::kUnavailable, endpoint_ + ": no progress for " +
                                                  std::to_string(options_.give_up.count()) + " ms" +
                                                  (last_problem_.empty() ? "" : " (" + last_problem_ + ")")};
    }
    return {};
}

Result<bool> ArtifactChannel::send_numbered(const ArtifactRequest& request, std::uint64_t offset, std::uint32_t length,
                                            std::string_view attachment) {
    if (!socket_) {
        TUNEFARM_ASSIGN(ClientSocket made, ClientSocket::connect(context_, endpoint_, options_.socket));
        socket_.emplace(std::move(made));
        ++sockets_;
    }
    if (socket_->send(encode(request), attachment) != Sent::kSent) return false;
    in_flight_.emplace(next_request_, std::pair{offset, length});
    ++next_request_;
    return true;
}

Result<std::optional<ArtifactChannel::Answer>> ArtifactChannel::receive() {
    const auto deadline = Clock::now() + options_.silence;
    for (;;) {
        TUNEFARM_TRY(check());
        if (!socket_) return std::optional<Answer>{};
        auto incoming = socket_->receive();
        if (!incoming) {
            const auto now = Clock::now();
            if (now >= deadline) {
                reset();
                return std::optional<Answer>{};
            }
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
            wait({*socket_}, std::min(left, kSlice));
            continue;
        }
        auto reply = decode_artifact_reply(incoming->payload);
        if (!reply.ok()) {
            if (reply.error().kind == ErrorKind::kUnsupported) return reply.error();
            last_problem_ = reply.error().message;
            continue;
        }
        const std::uint64_t number = std::visit([](const auto& r) { return r.request; }, *reply);
        if (number == 0) {
            // The server could not read a request of ours: asking again would not help.
            if (const auto* failed = std::get_if<Failed>(&*reply)) return Error{failed->kind, failed->message};
        }
        const auto found = in_flight_.find(number);
        if (found == in_flight_.end()) continue;
        Answer answer{std::move(reply).value(), std::move(incoming->attachment), found->second.first,
                      found->second.second};
        in_flight_.erase(found);
        return std::optional<Answer>(std::move(answer));
    }
}

Status ArtifactChannel::pause(std::chrono::milliseconds duration) {
    const auto until = Clock::now() + duration;
    while (Clock::now() < until) {
        TUNEFARM_TRY(check());
        std::this_thread::sleep_for(std::min(kSlice, duration));
    }
    return check();
}

}  // namespace tunefarm::protocol
