// SPDX-License-Identifier: MIT
#include "cli/credentials.h"

#include "protocol/key_files.h"

namespace tunefarm::cli {
namespace {

bool over_tcp(const std::string& endpoint) {
    return endpoint.starts_with("tcp://");
}

Error input(const std::string& message) {
    return Error{ErrorKind::kInput, message};
}

Result<protocol::KeyPair> key_that(bool (*may)(const std::string&), const std::string& path, const char* wanted) {
    TUNEFARM_ASSIGN(protocol::NamedKey key, protocol::read_key_file(path));
    if (!may(key.role)) return input(path + ": a key of role '" + key.role + "'; this command needs " + wanted);
    return std::move(key.keys);
}

}  // namespace

Result<Credentials> worker_credentials(const KeyOptions& options, const std::string& endpoint) {
    Credentials out;
    if (options.key.empty() != options.server_key.empty()) {
        return input("a worker needs both --key (its own) and --server-key (the coordinator's .pub), or neither");
    }
    if (options.insecure && !options.key.empty()) return input("--insecure and --key exclude each other");
    out.insecure = options.insecure;
    if (options.key.empty()) {
        if (!over_tcp(endpoint) || options.insecure) return out;
        return input("--connect " + endpoint +
                     ": over TCP a worker needs --key and --server-key (tunefarm keygen), or --insecure if everybody "
                     "who can reach or pose as this address may run code here");
    }
    TUNEFARM_ASSIGN(protocol::KeyPair own, key_that(protocol::may_work, options.key, "one of role worker"));
    TUNEFARM_ASSIGN(std::string server, protocol::read_server_key(options.server_key));
    out.curve = protocol::CurveClient{std::move(server), std::move(own)};
    return out;
}

Result<Credentials> client_credentials(const KeyOptions& options, const server::CoordinatorPlace& place) {
    Credentials out;
    std::string server = place.server_key;
    if (!options.server_key.empty()) {
        TUNEFARM_ASSIGN(server, protocol::read_server_key(options.server_key));
        if (place.server_key.empty()) {
            return input(place.endpoint + ": this coordinator runs without keys, not with that of " +
                         options.server_key);
        }
    }
    if (server.empty()) {
        out.insecure = options.insecure;
        if (!over_tcp(place.endpoint) || options.insecure) return out;
        return input(place.endpoint +
                     ": this coordinator listens on TCP without keys; --insecure asks it all the same, if the network "
                     "is one where nobody poses as it");
    }
    if (options.key.empty()) {
        return input(place.endpoint +
                     ": this coordinator wants a key: --key FILE, or TUNEFARM_KEY; tunefarm keygen client NAME makes "
                     "one, and its .pub goes on the coordinator's allow list");
    }
    TUNEFARM_ASSIGN(protocol::KeyPair own, key_that(protocol::may_ask, options.key, "one of role client or admin"));
    out.curve = protocol::CurveClient{std::move(server), std::move(own)};
    return out;
}

Result<std::optional<server::ServerKeys>> coordinator_keys(const CoordinatorOptions& options) {
    if (options.key.empty() != options.allow.empty()) {
        return input("a coordinator needs both --key (its own) and --allow (the list of who may connect), or neither");
    }
    if (options.key.empty()) return std::optional<server::ServerKeys>();
    if (options.insecure) return input("--insecure and --key exclude each other");
    TUNEFARM_ASSIGN(protocol::NamedKey own, protocol::read_key_file(options.key));
    if (own.role != protocol::kCoordinatorRole) {
        return input(options.key + ": a key of role '" + own.role + "', not of a coordinator");
    }
    server::ServerKeys keys;
    keys.own.secret_key = std::move(own.keys.secret_key);
    TUNEFARM_ASSIGN(keys.allowed, protocol::read_allow_list(options.allow));
    return std::optional(std::move(keys));
}

}  // namespace tunefarm::cli
