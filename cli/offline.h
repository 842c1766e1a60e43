// SPDX-License-Identifier: MIT
// What is done to campaigns in the database while no coordinator runs in the farm's directory. Each call holds the
// writer's lock meanwhile: kUnavailable, if somebody else does.
#pragma once

#include <string>

#include "base/result.h"
#include "base/types.h"

namespace tunefarm::cli {

/// Ends an interrupted campaign; none named: the only one. Returns its id.
Result<CampaignId> cancel_offline(const std::string& directory, CampaignId campaign);

}  // namespace tunefarm::cli
