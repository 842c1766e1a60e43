// SPDX-License-Identifier: MIT
// What `run`, `retry` and `submit --wait` say at the end of a campaign.
#pragma once

#include <string>
#include <vector>

#include "base/types.h"

namespace tunefarm::cli {

/// How the campaign ended: its state in the database, and what only its coordinator knew.
struct CampaignEnd {
    CampaignId campaign;
    std::string state;  ///< "done", "failed", "cancelled", "rejected"
    std::vector<std::string> input_errors;
    std::vector<std::string> failures;
    double elapsed_s = 0;
};

/// Prints winners, totals and what failed, writes the result files, and returns the exit code.
int print_end(const std::string& directory, const CampaignEnd& end);

}  // namespace tunefarm::cli
