// SPDX-License-Identifier: MIT
// Keys on disk: two kinds of text file, one entry per line. Empty lines and lines that begin with '#' mean nothing.
//
//   NAME.key, mode 0600: one key pair          NAME.pub, and lists put together of such files
//     role worker                                worker node17 <public key>
//     name node17
//     public <40 characters of Z85>
//     secret <40 characters of Z85>
//
// A .pub file says nothing secret, but whoever can write the list that a coordinator reads decides who gets in: files
// that group or others may write are refused, and secret ones that they may read. All functions are thread-safe.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/curve.h"

namespace tunefarm::protocol {

inline constexpr const char* kCoordinatorRole = "coordinator";

struct NamedKey {
    std::string role;  ///< coordinator, worker, client or admin
    std::string name;  ///< a plain file name without spaces
    KeyPair keys;
};

/// Both files of a key.
struct KeyFiles {
    std::string secret;
    std::string shared;
};

/// A new random key in DIRECTORY/NAME.key and DIRECTORY/NAME.pub. kInput: an unknown role, a bad name, or one of the
/// files exists: a key is never replaced.
Result<KeyFiles> make_key_files(const std::string& directory, const std::string& role, const std::string& name);

/// kInput: not such a file, its public key is not that of its secret one, or group or others may read it; kNotFound.
Result<NamedKey> read_key_file(const std::string& path);

/// The workers and clients of a list. kInput, with the line: not such a file, an unknown role, a coordinator's key, one
/// key twice, one name with two roles, or group or others may write it; kNotFound.
Result<std::vector<AllowedKey>> read_allow_list(const std::string& path);

/// The public keys of a coordinator. kInput also: there is none, or more than one.
Result<std::string> read_server_key(const std::string& path);

}  // namespace tunefarm::protocol
