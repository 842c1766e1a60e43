// SPDX-License-Identifier: MIT
// keygen: a new key for a coordinator, a worker or a person.
#include "protocol/key_files.h"

#include <cstdio>

#include "cli/commands.h"

namespace tunefarm::cli {

int keygen(const KeygenOptions& options) {
    const auto files = protocol::make_key_files(options.directory, options.role, options.name);
    if (!files.ok()) return fail(files.error());
    const bool coordinator = options.role == protocol::kCoordinatorRole;
    std::printf("%s\n  secret, mode 0600: for the %s '%s' alone (--key)\n%s\n  public: %s\n", files->secret.c_str(),
                options.role.c_str(), options.name.c_str(), files->shared.c_str(),
                coordinator ? "for everybody who connects to it (--server-key)"
                            : "its line goes on the coordinator's list (--allow)");
    return kExitOk;
}

}  // namespace tunefarm::cli
