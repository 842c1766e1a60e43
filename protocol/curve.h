// SPDX-License-Identifier: MIT
// Who may speak to a socket: CURVE keys (RFC 26/ZeroMQ) and the ZAP allow-list (RFC 27/ZeroMQ). Keys are Z85 text of 40
// characters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace tunefarm::protocol {

class Context;

struct KeyPair {
    std::string public_key;
    std::string secret_key;
};

/// A new random key pair.
Result<KeyPair> keygen();
/// The public key of a secret key; kInput if it is not one.
Result<std::string> public_key_of(const std::string& secret_key);

struct CurveServer {
    std::string secret_key;
};

struct CurveClient {
    std::string server_key;  ///< the coordinator's public key
    KeyPair own;
};

/// Messages of `public_key`'s owner arrive with `name` and `role` (Incoming::user, Incoming::role). Two keys may share
/// a name: that is how a key is rotated.
struct AllowedKey {
    std::string public_key;
    std::string name;
    std::string role;
};

/// What a sender's role (Incoming::role) lets it do where keys are required. "worker": execute tasks; "client" and
/// "admin": ask and submit. A key without a role may do nothing.
bool may_work(const std::string& role);
bool may_ask(const std::string& role);
/// On the artifact socket: "worker" fetches inputs and stores outputs; "client" and "admin" only store, namely the
/// configs that they submit.
bool may_fetch(const std::string& role);
bool may_store(const std::string& role);

/// Answers libzmq's question "may this key connect?" on a thread of its own; keys not on the list are refused. One per
/// Context; it must run before a socket with CURVE is bound and until that socket is gone: without a handler libzmq
/// accepts every key, so ServerSocket::bind refuses to.
class ZapServer {
  public:
    static Result<std::unique_ptr<ZapServer>> start(const Context& context, std::vector<AllowedKey> allowed);
    ~ZapServer();
    ZapServer(const ZapServer&) = delete;
    ZapServer& operator=(const ZapServer&) = delete;

    /// Replaces the list for connections made from now on. Thread-safe.
    Status set_allowed(std::vector<AllowedKey> allowed);
    /// Connections refused so far. Thread-safe.
    std::uint64_t refused() const;

  private:
    struct Impl;
    explicit ZapServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tunefarm::protocol
