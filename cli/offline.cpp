// SPDX-License-Identifier: MIT
#include "cli/offline.h"

#include "cli/commands.h"
#include "coordinator/server/farm_clock.h"
#include "coordinator/server/open_campaigns.h"
#include "coordinator/server/server.h"
#include "storage/state_reader.h"
#include "storage/writer.h"

namespace tunefarm::cli {
namespace {

struct Stored {
    std::unique_ptr<storage::Writer> writer;
    std::unique_ptr<storage::StateReader> reader;
};

Result<Stored> open(const std::string& directory) {
    const std::string path = server::database_path(directory);
    {
        // Fails for a directory without results before anything is created in it.
        const auto there = storage::Database::open_readonly(path);
        if (!there.ok() && there.error().kind == ErrorKind::kNotFound) return no_results(directory);
        TUNEFARM_TRY(there);
    }
    Stored stored;
    TUNEFARM_ASSIGN(stored.writer, storage::Writer::open(path));
    TUNEFARM_ASSIGN(stored.reader, storage::StateReader::open(path));
    return stored;
}

Status write(Stored& stored, std::vector<storage::Record> records) {
    stored.writer->submit(std::move(records));
    return stored.writer->flush();
}

}  // namespace

Result<CampaignId> cancel_offline(const std::string& directory, CampaignId campaign) {
    TUNEFARM_ASSIGN(Stored stored, open(directory));
    if (!campaign.valid()) {
        TUNEFARM_ASSIGN(const std::vector<CampaignId> unfinished, stored.reader->open_campaigns());
        if (unfinished.empty()) return Error{ErrorKind::kNotFound, directory + ": no campaign is unfinished"};
        if (unfinished.size() > 1) {
            std::string ids;
            for (const CampaignId id : unfinished) ids += " " + std::to_string(id.value());
            return Error{ErrorKind::kInput,
                         directory + ": several campaigns are unfinished; name one with --campaign:" + ids};
        }
        campaign = unfinished.front();
    }
    TUNEFARM_ASSIGN(const storage::OpenCampaign found, stored.reader->campaign(campaign));
    if (found.record.ended != Instant{}) {
        return Error{ErrorKind::kInput, "campaign " + std::to_string(campaign.value()) + " has ended already: it is " +
                                            found.record.state};
    }
    TUNEFARM_TRY(write(stored, server::cancelled(found, server::wall_clock())));
    return campaign;
}

}  // namespace tunefarm::cli
