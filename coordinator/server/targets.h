// SPDX-License-Identifier: MIT
// Which targets a request is for, checked against what the connected workers can do.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/server/core.h"

namespace tunefarm::server {

/// Sets the request's targets to the canonical names of `wanted`; none wanted: the first connected device's. Those
/// without a device are built only; `notes` says so to people. kInput: what cannot be done, and what to do about it.
Status choose_targets(const Core& core, const std::vector<std::string>& wanted, CampaignRequest& request,
                      std::vector<std::string>& notes);

}  // namespace tunefarm::server
