// SPDX-License-Identifier: MIT
// A campaign of a local farm, from its submission to its end.
#pragma once

#include <string>

#include "base/types.h"
#include "cli/local_farm.h"

namespace tunefarm::cli {

std::uint32_t usable_cpus();

/// Shows progress until the campaign has ended or a stop is requested, stops the farm, prints the end, and returns the
/// exit code.
int run_to_end(LocalFarm& farm, const std::string& directory, CampaignId campaign);

}  // namespace tunefarm::cli
