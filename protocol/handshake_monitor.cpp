// SPDX-License-Identifier: MIT
#include "protocol/handshake_monitor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tunefarm::protocol {
namespace {

constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                        ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;

/// The other end, for the log. A connection that has been closed meanwhile has none.
std::string peer_of(int fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (address.ss_family == AF_INET) {
        const auto& in = reinterpret_cast<const sockaddr_in&>(address);
        ::inet_ntop(AF_INET, &in.sin_addr, text.data(), text.size());
        return std::string(text.data()) + ":" + std::to_string(ntohs(in.sin_port));
    }
    if (address.ss_family == AF_INET6) {
        const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
        ::inet_ntop(AF_INET6, &in.sin6_addr, text.data(), text.size());
        return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(in.sin6_port));
    }
    return "this host";
}

std::string reason_of(int event, std::uint32_t value) {
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return "the key is not accepted";
    if (event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) return "the connection ended before it had said who it is";
    switch (value) {
        case ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH: return "one side uses keys, the other none";
        case ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC: return "its keys do not fit: it expects another coordinator";
        default: return "it does not speak the protocol";
    }
}

}  // namespace

HandshakeMonitor::HandshakeMonitor(RawSocket& watched, std::shared_ptr<Context::Impl> context)
    : watched_(watched), events_(std::move(context), ZMQ_PAIR) {}

Result<std::unique_ptr<HandshakeMonitor>> HandshakeMonitor::attach(RawSocket& watched) {
    static std::atomic<std::uint64_t> last{0};
    const std::string address = "inproc://handshakes-" + std::to_string(++last);
    std::unique_ptr<HandshakeMonitor> monitor(new HandshakeMonitor(watched, watched.context));
    monitor->events_.set(ZMQ_RCVHWM, 0);
    monitor->events_.set(ZMQ_LINGER, 0);
    TUNEFARM_TRY(monitor->events_.error);
    if (zmq_socket_monitor(watched.socket, address.c_str(), kEvents) != 0) return zmq_failure("socket monitor");
    if (zmq_connect(monitor->events_.socket, address.c_str()) != 0) return zmq_failure("socket monitor");
    return monitor;
}

HandshakeMonitor::~HandshakeMonitor() {
    // While events are sent somebody must be there to take them.
    zmq_socket_monitor(watched_.socket, nullptr, 0);
}

void HandshakeMonitor::drain(const std::function<void(const Failure&)>& call) {
    for (;;) {
        Frame frame;
        if (zmq_msg_recv(&frame.message, events_.socket, ZMQ_DONTWAIT) < 0) return;
        const std::string what = frame.str();
        Frame address;
        if (frame.more()) zmq_msg_recv(&address.message, events_.socket, ZMQ_DONTWAIT);
        std::uint16_t event = 0;
        std::uint32_t value = 0;
        if (what.size() != sizeof event + sizeof value) continue;
        std::memcpy(&event, what.data(), sizeof event);
        std::memcpy(&value, what.data() + sizeof event, sizeof value);
        const int fd = static_cast<int>(value);
        if (event == ZMQ_EVENT_ACCEPTED) {
            peers_[fd] = peer_of(fd);
        } else if (event == ZMQ_EVENT_DISCONNECTED) {
            const auto peer = peers_.extract(fd);
            if (!pending_) continue;
            const auto failure = std::exchange(pending_, nullptr);
            if (!peer.empty()) failure->peer = peer.mapped();
            call(*failure);
        } else {
            pending_ = std::make_unique<Failure>();
            pending_->reason = reason_of(event, value);
            pending_->key_refused = event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH;
        }
    }
}

}  // namespace tunefarm::protocol
