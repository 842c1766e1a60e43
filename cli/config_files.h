// SPDX-License-Identifier: MIT
// The configs that a command line names, read and checked.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/server/campaigns.h"

namespace tunefarm::cli {

/// A request without targets. `name` empty: named after the files. kInput: file, line and what to do.
Result<server::CampaignRequest> read_configs(const std::vector<std::string>& paths, const std::string& name);

}  // namespace tunefarm::cli
