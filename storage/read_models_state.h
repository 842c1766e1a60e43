// SPDX-License-Identifier: MIT
// What the parts of ReadModels share.
#pragma once

#include <optional>
#include <string>

#include "storage/database.h"
#include "storage/read_models.h"

namespace tunefarm::storage {

struct ChosenCampaign {
    CampaignId id;
    std::string name;
    std::string state;
    Instant created;
    Instant ended;  ///< zero while open
};

/// nullopt: no campaign was named and there is none.
Result<std::optional<ChosenCampaign>> choose_campaign(Database& db, const CampaignChoice& choice);

struct ReadModels::State {
    Database db;
};

}  // namespace tunefarm::storage
