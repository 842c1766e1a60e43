// SPDX-License-Identifier: MIT
#include "cli/result_files.h"

#include <fmt/format.h>

#include "base/files.h"
#include "coordinator/server/server.h"
#include "storage/artifact_store.h"
#include "storage/read_models.h"

namespace tunefarm::cli {
namespace {

/// A config's file name without folders and ending, safe as a part of a file name.
std::string stem_of(const std::string& path) {
    const std::string name = path.substr(path.rfind('/') + 1);
    std::string out;
    for (const char c : name.substr(0, name.rfind('.'))) {
        const bool safe =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        out.push_back(safe ? c : '_');
    }
    return out.empty() ? "config" : out;
}

}  // namespace

Result<std::string> write_result_files(const std::string& directory, CampaignId campaign) {
    TUNEFARM_ASSIGN(const auto models, storage::ReadModels::open(server::database_path(directory)));
    storage::CampaignChoice choice;
    choice.id = campaign;
    TUNEFARM_ASSIGN(const auto steps, models->steps(choice));
    TUNEFARM_ASSIGN(const auto store, storage::ArtifactStore::open(server::artifacts_path(directory)));
    const std::string folder = fmt::format("{}/results/campaign-{}", directory, campaign.value());
    bool any = false;
    for (const storage::StepRow& step : steps) {
        const std::string place = fmt::format("{}/{}-step{}-{}", folder, stem_of(step.config), step.step, step.target);
        for (const storage::StepFile& file : step.files) {
            if (!is_plain_file_name(file.name)) continue;
            TUNEFARM_TRY(make_directories(place));
            TUNEFARM_TRY(store->copy_to(file.digest, place + "/" + file.name));
            any = true;
        }
    }
    return any ? folder : std::string();
}

}  // namespace tunefarm::cli
