// SPDX-License-Identifier: MIT
// Campaigns that an earlier coordinator left without an end, as requests that can be submitted again.
#pragma once

#include "base/result.h"
#include "coordinator/server/campaigns.h"
#include "coordinator/server/seams.h"
#include "storage/state_reader.h"

namespace tunefarm::server {

/// From the database and the configs' bytes in the store. `toolchains` stays empty: that is for the caller to compare
/// with what its workers offer (campaign_key). kNotFound, kCorruption: a config's bytes are not there; kInput: its
/// bytes are not a config for this version.
Result<CampaignRequest> request_of(const storage::OpenCampaign& open, Artifacts& artifacts);

/// Ends a campaign that nobody works on.
std::vector<storage::Record> cancelled(const storage::OpenCampaign& campaign, Instant now);

/// An ended campaign is unfinished again: its failed and cancelled steps and tasks wait. kInput: it has not ended, or
/// there is nothing to repeat.
Result<std::vector<storage::Record>> reopened(const storage::OpenCampaign& campaign);

}  // namespace tunefarm::server
