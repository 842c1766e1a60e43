// SPDX-License-Identifier: MIT
// An action before it has an id: everything that its key covers.
#pragma once

#include <string>
#include <vector>

#include "base/digest.h"
#include "base/types.h"
#include "protocol/messages.h"

namespace tunefarm::server {

struct ActionDraft {
    TaskKind kind = TaskKind::kNoop;
    std::string toolchain;
    std::string target;
    Digest fingerprint;
    std::string args;  ///< JSON object
    std::vector<protocol::Input> inputs;
    std::string description;  ///< for people; not part of the key
    double cost = 1;          ///< relative effort, for prediction; not part of the key
    bool cacheable = true;    ///< false for measurements
};

/// SHA-256 over kind, toolchain, target, fingerprint, arguments, and the inputs' names, paths and digests, each with
/// its length.
Digest action_key(const ActionDraft& draft);

}  // namespace tunefarm::server
