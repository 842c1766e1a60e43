// SPDX-License-Identifier: MIT
// Which artifacts the database still needs; ArtifactStore::gc() removes the others.
#pragma once

#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "storage/database.h"

namespace tunefarm::storage {

struct LiveOptions {
    /// Outputs of actions that may answer later requests. Off: a later run makes them again.
    bool cached_actions = true;
    /// Result files of ended campaigns (`export` needs them).
    bool step_files = true;
};

/// Sorted, without duplicates: documents, configs, action outputs and files of unfinished steps and of pinned
/// campaigns, and what `options` adds.
Result<std::vector<Digest>> live_artifacts(Database& db, const LiveOptions& options = {});

}  // namespace tunefarm::storage
