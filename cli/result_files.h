// SPDX-License-Identifier: MIT
// The result files of a campaign's steps as plain files, for people and other programs.
#pragma once

#include <string>

#include "base/result.h"
#include "base/types.h"

namespace tunefarm::cli {

/// Writes each ended step's files to `<directory>/results/campaign-<id>/<config>-step<N>-<target>/` and returns the
/// campaign's folder; empty when it has no files. Files that are there are replaced.
Result<std::string> write_result_files(const std::string& directory, CampaignId campaign);

}  // namespace tunefarm::cli
