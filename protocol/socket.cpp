// SPDX-License-Identifier: MIT
#include "protocol/socket.h"

#include <sys/random.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/log.h"
#include "base/rate_limit.h"
#include "protocol/handshake_monitor.h"
#include "protocol/socket_impl.h"

namespace tunefarm::protocol {
namespace {

using std::chrono::milliseconds;

/// A TCP peer that does not finish its handshake is not a peer.
constexpr int kHandshakeMs = 5000;
constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kTcp = "tcp://";
/// Messages after which a busy server looks at its failed handshakes.
constexpr std::uint64_t kReceivesPerLook = 256;

int as_int(milliseconds value) {
    return static_cast<int>(std::clamp<milliseconds::rep>(value.count(), -1, 1'000'000'000));
}

Status check_endpoint(const std::string& endpoint, bool has_keys, bool insecure) {
    if (endpoint.starts_with(kIpc)) {
        const std::size_t length = endpoint.size() - kIpc.size();
        constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
        if (length == 0) return Error{ErrorKind::kInput, endpoint + ": names no file"};
        if (length > kMaxPath) {
            return Error{ErrorKind::kInput, endpoint + ": the path has " + std::to_string(length) +
                                                " bytes, but a socket's may have " + std::to_string(kMaxPath) +
                                                ": use a directory with a shorter name"};
        }
        return {};
    }
    if (!endpoint.starts_with(kTcp)) {
        return Error{ErrorKind::kInput, endpoint + ": not an endpoint: write tcp://ADDRESS:PORT or ipc://PATH"};
    }
    if (!has_keys && !insecure) {
        return Error{ErrorKind::kInput, endpoint +
                                            ": TCP needs CURVE keys (tunefarm keygen), or --insecure if everybody "
                                            "who can reach this address may run code here"};
    }
    return {};
}

void set_common(RawSocket& raw, const std::string& endpoint, const SocketOptions& options) {
    raw.set(ZMQ_MAXMSGSIZE, static_cast<std::int64_t>(options.max_frame));
    raw.set(ZMQ_SNDHWM, options.high_water);
    raw.set(ZMQ_RCVHWM, options.high_water);
    raw.set(ZMQ_LINGER, as_int(options.linger));
    raw.set(ZMQ_HEARTBEAT_IVL, as_int(options.heartbeat));
    raw.set(ZMQ_HEARTBEAT_TIMEOUT, as_int(3 * options.heartbeat));
    raw.set(ZMQ_HEARTBEAT_TTL, as_int(3 * options.heartbeat));
    raw.set(ZMQ_HANDSHAKE_IVL, kHandshakeMs);
    raw.set(ZMQ_TCP_KEEPALIVE, 1);
    // With it set, IPv4 addresses are reported in their IPv6 form.
    raw.set(ZMQ_IPV6, endpoint.find('[') != std::string::npos ? 1 : 0);
}

/// Sends the frames of one message; the first one decides whether the others can go, since ZeroMQ moves whole messages.
Sent send_frames(void* socket, const std::string* peer, std::string_view payload, std::string_view attachment) {
    const auto send = [&](std::string_view bytes, bool more) {
        int rc = 0;
        do {
            rc = zmq_send(socket, bytes.data(), bytes.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0));
        } while (rc < 0 && zmq_errno() == EINTR);
        return rc >= 0;
    };
    bool ok = peer == nullptr || send(*peer, true);
    ok = ok && send(payload, !attachment.empty());
    ok = ok && (attachment.empty() || send(attachment, false));
    if (ok) return Sent::kSent;
    return zmq_errno() == EAGAIN ? Sent::kWouldBlock : Sent::kGone;
}

bool receive_frame(void* socket, Frame& frame) {
    int rc = 0;
    do {
        rc = zmq_msg_recv(&frame.message, socket, ZMQ_DONTWAIT);
    } while (rc < 0 && zmq_errno() == EINTR);
    return rc >= 0;
}

/// The rest of the current message, for a socket whose messages must have one or two frames (after the routing id).
bool receive_rest(void* socket, Incoming& out) {
    Frame payload;
    if (!receive_frame(socket, payload)) return false;
    out.payload = payload.str();
    out.user = payload.property("User-Id");
    out.role = payload.property(kRoleProperty);
    if (payload.more()) {
        Frame attachment;
        if (!receive_frame(socket, attachment)) return false;
        out.attachment = attachment.str();
        bool more = attachment.more();
        const bool extra = more;
        while (more) {
            Frame ignored;
            if (!receive_frame(socket, ignored)) return false;
            more = ignored.more();
        }
        if (extra) return false;
    }
    return !out.payload.empty();
}

int event_fd(void* socket) {
    int fd = -1;
    std::size_t size = sizeof fd;
    zmq_getsockopt(socket, ZMQ_FD, &fd, &size);
    return fd;
}

}  // namespace

Error zmq_failure(const std::string& what) {
    const int code = zmq_errno();
    ErrorKind kind = ErrorKind::kIo;
    if (code == EADDRINUSE || code == EADDRNOTAVAIL) kind = ErrorKind::kUnavailable;
    if (code == EINVAL || code == ENODEV) kind = ErrorKind::kInput;
    if (code == EMFILE || code == ENOMEM) kind = ErrorKind::kNoSpace;
    if (code == ENOENT) kind = ErrorKind::kNotFound;
    return Error{kind, what + ": " + zmq_strerror(code)};
}

Context::Impl::Impl() {
    if (context == nullptr) std::abort();
}
Context::Impl::~Impl() {
    while (zmq_ctx_term(context) != 0 && zmq_errno() == EINTR) {
    }
}

Context::Context() : impl_(std::make_shared<Impl>()) {}
Context::~Context() = default;

RawSocket::RawSocket(std::shared_ptr<Context::Impl> owner, int type)
    : context(std::move(owner)), socket(zmq_socket(context->context, type)) {
    if (socket == nullptr) error = zmq_failure("socket");
}
RawSocket::~RawSocket() {
    if (socket != nullptr) zmq_close(socket);
}
void RawSocket::set(int option, int value) {
    if (error.ok() && zmq_setsockopt(socket, option, &value, sizeof value) != 0) error = zmq_failure("socket option");
}
void RawSocket::set(int option, std::int64_t value) {
    if (error.ok() && zmq_setsockopt(socket, option, &value, sizeof value) != 0) error = zmq_failure("socket option");
}
void RawSocket::set(int option, const std::string& value) {
    if (error.ok() && zmq_setsockopt(socket, option, value.data(), value.size()) != 0) {
        error = zmq_failure("socket option");
    }
}

std::string Frame::property(const char* name) {
    const char* value = zmq_msg_gets(&message, name);
    return value == nullptr ? std::string() : std::string(value);
}

// ---- server ----

struct ServerSocket::Impl {
    RawSocket raw;
    std::unique_ptr<HandshakeMonitor> monitor;
    std::string endpoint;
    std::uint64_t dropped = 0;
    std::uint64_t received = 0;
    std::uint64_t failed_handshakes = 0;
    RateLimit logged;
    explicit Impl(const Context& context) : raw(context.impl(), ZMQ_ROUTER) {}

    void look_at_handshakes();
};

void ServerSocket::Impl::look_at_handshakes() {
    if (monitor == nullptr) return;
    monitor->drain([this](const HandshakeMonitor::Failure& failure) {
        ++failed_handshakes;
        if (failure.key_refused) return;  // the ZAP handler has said more
        if (const auto left_out = logged.pass()) {
            log::warning("refused a connection from " + (failure.peer.empty() ? "a peer that is gone" : failure.peer) +
                         " to " + endpoint + ": " + failure.reason + left_out_text(*left_out));
        }
    });
}

ServerSocket::ServerSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerSocket::ServerSocket(ServerSocket&&) noexcept = default;
ServerSocket& ServerSocket::operator=(ServerSocket&&) noexcept = default;
ServerSocket::~ServerSocket() = default;

Result<ServerSocket> ServerSocket::bind(const Context& context, const std::string& endpoint, const Options& options) {
    TUNEFARM_TRY(check_endpoint(endpoint, options.curve.has_value(), options.insecure));
    auto impl = std::make_unique<Impl>(context);
    RawSocket& raw = impl->raw;
    set_common(raw, endpoint, options);
    raw.set(ZMQ_ROUTER_MANDATORY, 1);
    raw.set(ZMQ_ROUTER_HANDOVER, 0);
    if (options.curve) {
        TUNEFARM_TRY(check_key(options.curve->secret_key, "the server's secret key"));
        if (!context.impl()->zap_running) {
            return Error{ErrorKind::kInternal, endpoint + ": CURVE without a ZapServer would accept every key"};
        }
        raw.set(ZMQ_ZAP_DOMAIN, std::string(kZapDomain));
        raw.set(ZMQ_CURVE_SERVER, 1);
        raw.set(ZMQ_CURVE_SECRETKEY, options.curve->secret_key);
    }
    TUNEFARM_TRY(raw.error);
    if (options.curve || endpoint.starts_with(kTcp)) {
        TUNEFARM_ASSIGN(impl->monitor, HandshakeMonitor::attach(raw));
    }
    if (zmq_bind(raw.socket, endpoint.c_str()) != 0) return zmq_failure("cannot listen on " + endpoint);
    std::array<char, 512> last{};
    std::size_t size = last.size();
    if (zmq_getsockopt(raw.socket, ZMQ_LAST_ENDPOINT, last.data(), &size) != 0) return zmq_failure(endpoint);
    impl->endpoint = last.data();
    return ServerSocket(std::move(impl));
}

const std::string& ServerSocket::endpoint() const {
    return impl_->endpoint;
}
Sent ServerSocket::send(const std::string& peer, std::string_view payload, std::string_view attachment) {
    return send_frames(impl_->raw.socket, &peer, payload, attachment);
}
std::optional<Incoming> ServerSocket::receive() {
    for (;;) {
        Frame id;
        const bool got = receive_frame(impl_->raw.socket, id);
        if (!got || ++impl_->received % kReceivesPerLook == 0) impl_->look_at_handshakes();
        if (!got) return std::nullopt;
        Incoming out;
        out.peer = id.str();
        if (id.more() && receive_rest(impl_->raw.socket, out)) return out;
        ++impl_->dropped;
    }
}
std::uint64_t ServerSocket::dropped() const {
    return impl_->dropped;
}
std::uint64_t ServerSocket::failed_handshakes() const {
    return impl_->failed_handshakes;
}
int ServerSocket::fd() const {
    return event_fd(impl_->raw.socket);
}

// ---- client ----

struct ClientSocket::Impl {
    RawSocket raw;
    std::unique_ptr<HandshakeMonitor> monitor;
    std::uint64_t dropped = 0;
    explicit Impl(const Context& context) : raw(context.impl(), ZMQ_DEALER) {}
};

ClientSocket::ClientSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientSocket::ClientSocket(ClientSocket&&) noexcept = default;
ClientSocket& ClientSocket::operator=(ClientSocket&&) noexcept = default;
ClientSocket::~ClientSocket() = default;

Result<ClientSocket> ClientSocket::connect(const Context& context, const std::string& endpoint,
                                           const Options& options) {
    TUNEFARM_TRY(check_endpoint(endpoint, options.curve.has_value(), options.insecure));
    auto impl = std::make_unique<Impl>(context);
    RawSocket& raw = impl->raw;
    set_common(raw, endpoint, options);
    std::string id(16, '\0');
    if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) return errno_error("getrandom");
    // ZeroMQ keeps ids that begin with zero for itself.
    if (id[0] == '\0') id[0] = '\1';
    raw.set(ZMQ_ROUTING_ID, id);
    raw.set(ZMQ_RECONNECT_IVL, as_int(options.reconnect_min));
    raw.set(ZMQ_RECONNECT_IVL_MAX, as_int(options.reconnect_max));
    if (options.curve) {
        TUNEFARM_TRY(check_key(options.curve->server_key, "the server's public key"));
        TUNEFARM_TRY(check_key(options.curve->own.public_key, "the own public key"));
        TUNEFARM_TRY(check_key(options.curve->own.secret_key, "the own secret key"));
        raw.set(ZMQ_CURVE_SERVERKEY, options.curve->server_key);
        raw.set(ZMQ_CURVE_PUBLICKEY, options.curve->own.public_key);
        raw.set(ZMQ_CURVE_SECRETKEY, options.curve->own.secret_key);
    }
    TUNEFARM_TRY(raw.error);
    if (options.curve || endpoint.starts_with(kTcp)) {
        TUNEFARM_ASSIGN(impl->monitor, HandshakeMonitor::attach(raw));
    }
    if (zmq_connect(raw.socket, endpoint.c_str()) != 0) return zmq_failure("cannot connect to " + endpoint);
    return ClientSocket(std::move(impl));
}

Sent ClientSocket::send(std::string_view payload, std::string_view attachment) {
    return send_frames(impl_->raw.socket, nullptr, payload, attachment);
}
std::optional<Incoming> ClientSocket::receive() {
    zmq_pollitem_t item{impl_->raw.socket, 0, ZMQ_POLLIN, 0};
    for (;;) {
        if (zmq_poll(&item, 1, 0) <= 0) return std::nullopt;
        Incoming out;
        if (receive_rest(impl_->raw.socket, out)) return out;
        ++impl_->dropped;
    }
}
std::uint64_t ClientSocket::dropped() const {
    return impl_->dropped;
}
std::optional<ClientSocket::Refusal> ClientSocket::refusal() {
    std::optional<Refusal> out;
    if (impl_->monitor == nullptr) return out;
    impl_->monitor->drain(
        [&](const HandshakeMonitor::Failure& failure) { out = Refusal{failure.key_refused, failure.reason}; });
    return out;
}
int ClientSocket::fd() const {
    return event_fd(impl_->raw.socket);
}

// ---- waiting ----

Waitable::Waitable(const ServerSocket& server) : socket(server.impl_->raw.socket) {}
Waitable::Waitable(const ClientSocket& client) : socket(client.impl_->raw.socket) {}

std::vector<bool> wait(const std::vector<Waitable>& items, milliseconds timeout) {
    std::vector<zmq_pollitem_t> polled;
    polled.reserve(items.size());
    for (const Waitable& item : items) {
        polled.push_back({item.socket, item.fd, ZMQ_POLLIN, 0});
    }
    std::vector<bool> ready(items.size(), false);
    // zmq_poll asks each socket for its events before it sleeps, which is what ZeroMQ's edge-triggered descriptors
    // need.
    if (zmq_poll(polled.data(), static_cast<int>(polled.size()), timeout.count() < 0 ? -1 : timeout.count()) <= 0) {
        return ready;
    }
    for (std::size_t i = 0; i < polled.size(); ++i) ready[i] = polled[i].revents != 0;
    return ready;
}

}  // namespace tunefarm::protocol
