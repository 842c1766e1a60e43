// SPDX-License-Identifier: MIT
// The two kinds of socket the farm uses, over ZeroMQ, without its headers. Nothing here blocks but wait(). A socket
// belongs to one thread at a time (moving it to another thread needs a full fence: hand it over through a std::thread's
// start or a mutex); a Context may be shared by all threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "protocol/curve.h"
#include "protocol/messages.h"

namespace tunefarm::protocol {

/// Owns ZeroMQ's I/O thread. Sockets keep their context alive; the last one to go waits until queued messages are sent
/// or a socket's linger time has passed.
class Context {
  public:
    Context();
    ~Context();
    Context(const Context&) = default;
    Context& operator=(const Context&) = default;

    struct Impl;
    const std::shared_ptr<Impl>& impl() const { return impl_; }

  private:
    std::shared_ptr<Impl> impl_;
};

enum class Sent {
    kSent,        ///< queued; whether it arrives is known only from an answer
    kWouldBlock,  ///< the peer's queue is full: try again later, never in a loop
    kGone,        ///< that peer is not connected (ServerSocket only)
};

struct Incoming {
    std::string peer;        ///< routing id: fresh for each ClientSocket, so never the identity of a host
    std::string user;        ///< name of the CURVE key's owner; empty without CURVE
    std::string role;        ///< role of the CURVE key's owner; empty without CURVE
    std::string payload;     ///< first frame
    std::string attachment;  ///< second frame, if any
};

struct SocketOptions {
    std::size_t max_frame = kMaxControlFrame;  ///< a larger frame closes the sender's connection
    int high_water = 1000;  ///< messages queued per peer and direction: a safety net, not flow control
    /// ZMTP pings find a dead connection when nothing else is sent; it is closed after three intervals of silence.
    std::chrono::milliseconds heartbeat{2000};
    std::chrono::milliseconds linger{500};  ///< how long closing waits to send what is queued
    bool insecure = false;                  ///< allow TCP without CURVE (tests, trusted loopback)
};

/// ROUTER: one per endpoint, many peers. Refuses a second connection with a routing id that is in use.
class ServerSocket {
  public:
    struct Options : SocketOptions {
        std::optional<CurveServer> curve;
    };

    /// "ipc:///dir/name" (path at most 107 bytes; permissions are those of its directory) or "tcp://address:port" (port
    /// "*": any free one). kInput: malformed endpoint, path too long, or TCP without keys and not `insecure`;
    /// kUnavailable: the address is in use; kInternal: CURVE without a ZapServer.
    static Result<ServerSocket> bind(const Context& context, const std::string& endpoint, const Options& options);

    ServerSocket(ServerSocket&&) noexcept;
    ServerSocket& operator=(ServerSocket&&) noexcept;
    ~ServerSocket();

    /// Where clients connect, with the real port.
    const std::string& endpoint() const;
    /// `attachment` is sent as a second frame unless empty.
    Sent send(const std::string& peer, std::string_view payload, std::string_view attachment = {});
    /// The next message, or nullopt if there is none now. Messages of a wrong shape are dropped here.
    std::optional<Incoming> receive();
    /// Messages dropped by receive() because they had no payload or more than two frames.
    std::uint64_t dropped() const;
    /// Connections over TCP or with CURVE that ended within their handshake, as far as receive() has noticed: unknown
    /// keys, no keys, port scans, noise. They are logged, at most ten a minute. ZeroMQ closes a connection whose first
    /// byte is not that of its protocol without telling anybody.
    std::uint64_t failed_handshakes() const;
    /// For an event loop that cannot use wait(). It is edge-triggered: when readable, and after every send(), call
    /// receive() until it is empty, or messages are noticed late or never.
    int fd() const;

    struct Impl;

  private:
    friend struct Waitable;
    explicit ServerSocket(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// DEALER: one connection to one server, with a fresh random routing id. Reconnects by itself with growing, jittered
/// pauses; what was queued to a server that died is lost, so answers decide. After a longer silence make a new one:
/// a server may hold the old id for connected.
class ClientSocket {
  public:
    struct Options : SocketOptions {
        std::optional<CurveClient> curve;
        std::chrono::milliseconds reconnect_min{100};
        std::chrono::milliseconds reconnect_max{5000};
    };

    /// Returns at once, also when nobody listens yet. Errors as in ServerSocket::bind.
    static Result<ClientSocket> connect(const Context& context, const std::string& endpoint, const Options& options);

    ClientSocket(ClientSocket&&) noexcept;
    ClientSocket& operator=(ClientSocket&&) noexcept;
    ~ClientSocket();

    Sent send(std::string_view payload, std::string_view attachment = {});
    /// As ServerSocket::receive; peer, user and role are empty.
    std::optional<Incoming> receive();
    std::uint64_t dropped() const;
    /// Why the last handshake failed, since this was asked last; only with CURVE or over TCP. A refused key is not
    /// tried again on this socket.
    struct Refusal {
        bool key_refused = false;
        std::string reason;
    };
    std::optional<Refusal> refusal();
    int fd() const;  ///< see ServerSocket::fd

    struct Impl;

  private:
    friend struct Waitable;
    explicit ClientSocket(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// A file descriptor to wait for until it is readable (or closed).
struct Fd {
    int fd = -1;
};

/// What wait() can wait for. Refers to the socket; does not own it.
struct Waitable {
    Waitable(const ServerSocket& socket);
    Waitable(const ClientSocket& socket);
    Waitable(Fd descriptor) : fd(descriptor.fd) {}

    void* socket = nullptr;
    int fd = -1;
};

/// Waits until something can be received on one of `items` or `timeout` has passed (negative: for ever), and says for
/// each item whether it is ready. A signal ends the wait early with nothing ready. Level-triggered: what was not
/// received is reported again.
std::vector<bool> wait(const std::vector<Waitable>& items, std::chrono::milliseconds timeout);

}  // namespace tunefarm::protocol
