// SPDX-License-Identifier: MIT
#include "coordinator/server/submissions.h"

#include "base/log.h"
#include "coordinator/server/open_campaigns.h"

namespace tunefarm::server {

Result<Submitted> Submissions::submit(CampaignRequest request, Instant now) {
    request.toolchains = core_.fingerprints(request);
    const Digest key = campaign_key(request);
    // A campaign that has just begun may not be committed yet: the core knows better than the database.
    for (const CampaignId id : core_.campaigns().running()) {
        if (core_.campaigns().record(id)->key == key) return Submitted{id, false, true};
    }
    TUNEFARM_ASSIGN(const auto open, reader_.find_open_campaign(key));
    if (open.has_value()) waiting_.erase(open->record.id);
    TUNEFARM_ASSIGN(const CampaignId id, core_.submit(request, open.has_value() ? &*open : nullptr, now));
    begun_.push_back({id, open.has_value(), false});
    return begun_.back();
}

Result<std::vector<std::string>> Submissions::take_up_all() {
    std::vector<std::string> trouble;
    TUNEFARM_ASSIGN(const std::vector<CampaignId> ids, reader_.open_campaigns());
    for (const CampaignId id : ids) {
        TUNEFARM_ASSIGN(const storage::OpenCampaign open, reader_.campaign(id));
        auto request = request_of(open, artifacts_);
        if (request.ok()) {
            waiting_[id] = {std::move(request).value(), open.record.key, 0};
        } else {
            trouble.push_back("campaign " + std::to_string(id.value()) + " (" + open.record.name +
                              ") cannot go on here: " + request.error().message);
        }
    }
    return trouble;
}

bool Submissions::may_resume(Waiting& waiting) const {
    if (journal_.committed() < waiting.ticket) return false;
    waiting.request.toolchains = core_.fingerprints(waiting.request);
    return campaign_key(waiting.request) == waiting.key;
}

void Submissions::resume(Instant now) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
        auto& [id, waiting] = *it;
        if (!may_resume(waiting)) {
            ++it;
            continue;
        }
        const Status resumed = [&, id = id, &request = waiting.request]() -> Status {
            TUNEFARM_ASSIGN(const storage::OpenCampaign open, reader_.campaign(id));
            TUNEFARM_TRY(core_.submit(request, &open, now));
            return {};
        }();
        if (resumed.ok()) begun_.push_back({id, true, false});
        if (!resumed.ok()) {
            log::error("campaign " + waiting.request.name + " cannot go on: " + resumed.error().message);
        }
        it = waiting_.erase(it);
    }
}

Result<CampaignId> Submissions::retry(CampaignId campaign, bool forget) {
    if (!campaign.valid()) {
        TUNEFARM_ASSIGN(const storage::LastIds last, reader_.last_ids());
        campaign = last.campaign;
    }
    TUNEFARM_ASSIGN(const storage::OpenCampaign ended, reader_.campaign(campaign));
    TUNEFARM_ASSIGN(std::vector<storage::Record> records, reopened(ended));
    TUNEFARM_ASSIGN(CampaignRequest request, request_of(ended, artifacts_));
    if (forget) records.emplace_back(storage::ForgetRecord{campaign});
    waiting_[campaign] = {std::move(request), ended.record.key, journal_.submit(std::move(records))};
    return campaign;
}

std::map<CampaignId, std::string> Submissions::waiting() const {
    std::map<CampaignId, std::string> out;
    for (const auto& [id, waiting] : waiting_) out[id] = waiting.request.name;
    return out;
}

Status Submissions::cancel_waiting(CampaignId campaign, Instant now) {
    TUNEFARM_ASSIGN(const storage::OpenCampaign open, reader_.campaign(campaign));
    journal_.submit(cancelled(open, now));
    waiting_.erase(campaign);
    return {};
}

}  // namespace tunefarm::server
