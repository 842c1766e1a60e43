// SPDX-License-Identifier: MIT
#include "protocol/curve.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/files.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "protocol/socket_impl.h"

namespace tunefarm::protocol {
namespace {

constexpr std::size_t kKeyText = 40;
constexpr std::size_t kKeyBytes = 32;

Result<std::string> binary_key(const std::string& key, const std::string& what) {
    std::array<std::uint8_t, kKeyBytes> bytes{};
    if (key.size() != kKeyText || zmq_z85_decode(bytes.data(), key.c_str()) == nullptr) {
        return Error{ErrorKind::kInput, what + ": a key is 40 characters of Z85 text, as tunefarm keygen writes it"};
    }
    return std::string(bytes.begin(), bytes.end());
}

}  // namespace

Status check_key(const std::string& key, const std::string& what) {
    const auto bytes = binary_key(key, what);
    TUNEFARM_TRY(bytes);
    return {};
}

Result<KeyPair> keygen() {
    std::array<char, kKeyText + 1> public_key{};
    std::array<char, kKeyText + 1> secret_key{};
    if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) return zmq_failure("keygen");
    return KeyPair{public_key.data(), secret_key.data()};
}

Result<std::string> public_key_of(const std::string& secret_key) {
    TUNEFARM_TRY(check_key(secret_key, "secret key"));
    std::array<char, kKeyText + 1> public_key{};
    if (zmq_curve_public(public_key.data(), secret_key.c_str()) != 0) return zmq_failure("secret key");
    return std::string(public_key.data());
}

bool may_work(const std::string& role) {
    return role == "worker";
}

bool may_ask(const std::string& role) {
    return role == "client" || role == "admin";
}

bool may_fetch(const std::string& role) {
    return may_work(role);
}

bool may_store(const std::string& role) {
    return may_work(role) || may_ask(role);
}

struct ZapServer::Impl {
    struct Owner {
        std::string name;
        std::string role;
    };

    RawSocket raw;
    UniqueFd stop{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::mutex mutex;
    std::map<std::string, Owner> allowed;  ///< by binary public key; guarded by mutex
    std::atomic<std::uint64_t> refused{0};
    RateLimit logged;
    std::thread thread;

    explicit Impl(const Context& context) : raw(context.impl(), ZMQ_REP) {}
    void serve();
    bool answer_one();
    void reply(const std::string& request, bool ok, const Owner& owner);
};

ZapServer::ZapServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ZapServer>> ZapServer::start(const Context& context, std::vector<AllowedKey> allowed) {
    auto impl = std::make_unique<Impl>(context);
    TUNEFARM_TRY(impl->raw.error);
    if (!impl->stop.valid()) return errno_error("eventfd");
    impl->raw.set(ZMQ_LINGER, 0);
    TUNEFARM_TRY(impl->raw.error);
    Impl* running = impl.get();
    std::unique_ptr<ZapServer> server(new ZapServer(std::move(impl)));
    TUNEFARM_TRY(server->set_allowed(std::move(allowed)));
    // Last: ZeroMQ gives the address back some time after a socket is closed, so a refusal must not have taken it.
    if (zmq_bind(running->raw.socket, "inproc://zeromq.zap.01") != 0) return zmq_failure("ZAP handler");
    running->raw.context->zap_running = true;
    running->thread = std::thread([running] { running->serve(); });
    return server;
}

ZapServer::~ZapServer() {
    impl_->raw.context->zap_running = false;
    if (impl_->thread.joinable()) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = ::write(impl_->stop.get(), &one, sizeof one);
        impl_->thread.join();
    }
}

Status ZapServer::set_allowed(std::vector<AllowedKey> allowed) {
    std::map<std::string, Impl::Owner> owners;
    for (AllowedKey& key : allowed) {
        TUNEFARM_ASSIGN(std::string bytes, binary_key(key.public_key, "public key of " + key.name));
        // Names travel in ZAP frames whose user id has at most 255 bytes.
        if (key.name.empty() || key.name.size() > 255 || key.role.size() > 255) {
            return Error{ErrorKind::kInput, "key " + key.public_key + ": needs a name of 1 to 255 bytes"};
        }
        owners[std::move(bytes)] = Impl::Owner{std::move(key.name), std::move(key.role)};
    }
    const std::lock_guard lock(impl_->mutex);
    impl_->allowed = std::move(owners);
    return {};
}

std::uint64_t ZapServer::refused() const {
    return impl_->refused;
}

void ZapServer::Impl::serve() {
    for (;;) {
        std::array<zmq_pollitem_t, 2> items{{{raw.socket, 0, ZMQ_POLLIN, 0}, {nullptr, stop.get(), ZMQ_POLLIN, 0}}};
        if (zmq_poll(items.data(), static_cast<int>(items.size()), -1) < 0) {
            if (zmq_errno() == EINTR) continue;
            return;
        }
        if (items[1].revents != 0) return;
        if (items[0].revents != 0 && !answer_one()) return;
    }
}

/// Request frames of RFC 27: version, request id, domain, address, identity, mechanism, credentials (CURVE: the key).
bool ZapServer::Impl::answer_one() {
    std::vector<std::string> frames;
    bool more = true;
    while (more) {
        Frame frame;
        if (zmq_msg_recv(&frame.message, raw.socket, 0) < 0) return zmq_errno() == EINTR;
        more = frame.more();
        if (frames.size() < 8) frames.push_back(frame.str());
    }
    if (frames.size() < 2) frames.resize(2);
    Owner owner;
    bool ok = false;
    if (frames.size() == 7 && frames[0] == "1.0" && frames[2] == kZapDomain && frames[5] == "CURVE") {
        const std::lock_guard lock(mutex);
        const auto found = allowed.find(frames[6]);
        ok = found != allowed.end();
        if (ok) owner = found->second;
    }
    if (!ok) {
        ++refused;
        std::array<char, kKeyText + 1> text{};
        if (frames.size() == 7 && frames[6].size() == kKeyBytes) {
            std::array<std::uint8_t, kKeyBytes> bytes{};
            std::copy(frames[6].begin(), frames[6].end(), bytes.begin());
            zmq_z85_encode(text.data(), bytes.data(), bytes.size());
        }
        const std::string address = frames.size() > 3 ? frames[3] : std::string();
        if (const auto left_out = logged.pass()) {
            log::warning("refused a connection from " + address + ": unknown key " + text.data() +
                         left_out_text(*left_out));
        }
    }
    reply(frames[1], ok, owner);
    return true;
}

void ZapServer::Impl::reply(const std::string& request, bool ok, const Owner& owner) {
    // One metadata property as ZMTP writes it: name length (1 byte), name, value length (4 bytes, big endian), value.
    std::string metadata;
    if (ok && !owner.role.empty()) {
        const std::string name = kRoleProperty;
        metadata.push_back(static_cast<char>(name.size()));
        metadata += name;
        metadata += std::string(3, '\0');
        metadata.push_back(static_cast<char>(owner.role.size()));
        metadata += owner.role;
    }
    const std::array<std::string, 6> frames{"1.0",      request, ok ? "200" : "400", ok ? "OK" : "unknown key",
                                            owner.name, metadata};
    for (std::size_t i = 0; i < frames.size(); ++i) {
        zmq_send(raw.socket, frames[i].data(), frames[i].size(), i + 1 < frames.size() ? ZMQ_SNDMORE : 0);
    }
}

}  // namespace tunefarm::protocol
