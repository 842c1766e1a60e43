// SPDX-License-Identifier: MIT
// What socket.cpp and curve.cpp share. Internal to protocol/: includes ZeroMQ.
#pragma once

#include <zmq.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/result.h"
#include "protocol/socket.h"

namespace tunefarm::protocol {

struct Context::Impl {
    void* context = zmq_ctx_new();
    std::atomic<bool> zap_running{false};

    Impl();
    ~Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
};

/// One ZeroMQ socket and the context that it needs alive.
struct RawSocket {
    std::shared_ptr<Context::Impl> context;
    void* socket = nullptr;

    RawSocket(std::shared_ptr<Context::Impl> owner, int type);
    ~RawSocket();
    RawSocket(const RawSocket&) = delete;
    RawSocket& operator=(const RawSocket&) = delete;

    /// A failure here is a bug or a lack of file descriptors; `error` keeps the first one.
    void set(int option, int value);
    void set(int option, std::int64_t value);
    void set(int option, const std::string& value);
    Status error;
};

/// One frame being received; closes itself.
struct Frame {
    zmq_msg_t message;
    Frame() { zmq_msg_init(&message); }
    ~Frame() { zmq_msg_close(&message); }
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

    std::string str() { return {static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message)}; }
    bool more() const { return zmq_msg_more(&message) != 0; }
    std::string property(const char* name);
};

Error zmq_failure(const std::string& what);
/// kInput unless `key` is 40 characters of Z85.
Status check_key(const std::string& key, const std::string& what);

/// The ZAP domain of every socket with CURVE; without one libzmq does not ask the handler.
inline constexpr char kZapDomain[] = "tunefarm";
/// ZAP metadata that carries a key's role to the receiver of a message.
inline constexpr char kRoleProperty[] = "X-Role";

}  // namespace tunefarm::protocol
