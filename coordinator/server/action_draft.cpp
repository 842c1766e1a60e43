// SPDX-License-Identifier: MIT
#include "coordinator/server/action_draft.h"

namespace tunefarm::server {

Digest action_key(const ActionDraft& draft) {
    Hasher hasher;
    hasher.add_field("tunefarm action 1");
    hasher.add_field(to_string(draft.kind)).add_field(draft.toolchain).add_field(draft.target);
    hasher.add_field(draft.fingerprint.hex()).add_field(draft.args);
    for (const protocol::Input& input : draft.inputs) {
        hasher.add_field(input.name).add_field(input.path).add_field(input.digest.hex());
    }
    return hasher.finish();
}

}  // namespace tunefarm::server
