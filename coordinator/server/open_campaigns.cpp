// SPDX-License-Identifier: MIT
#include "coordinator/server/open_campaigns.h"

#include <nlohmann/json.hpp>

#include "coordinator/plan/normalised.h"

namespace tunefarm::server {

using nlohmann::json;

namespace {

std::string name_of(const storage::OpenCampaign& campaign) {
    return "campaign " + std::to_string(campaign.record.id.value());
}

}  // namespace

Result<CampaignRequest> request_of(const storage::OpenCampaign& open, Artifacts& artifacts) {
    CampaignRequest request;
    request.name = open.record.name;
    try {
        const json options = json::parse(open.record.options);
        options.at("targets").get_to(request.targets);
        options.at("measured_targets").get_to(request.measured_targets);
        options.at("build_only").get_to(request.build_only);
        options.at("priority").get_to(request.priority);
    } catch (const json::exception& e) {
        return Error{ErrorKind::kCorruption, std::string("its options: ") + e.what()};
    }
    for (const storage::ConfigRecord& record : open.configs) {
        auto bytes = artifacts.get(record.content);
        if (!bytes.ok()) return bytes.error().in(record.path);
        TUNEFARM_ASSIGN(plan::Config config, plan::parse_config(*bytes, record.path));
        std::string normalised = plan::normalised_json(config);
        request.configs.push_back({std::move(config), std::move(normalised), std::move(bytes).value()});
    }
    return request;
}

std::vector<storage::Record> cancelled(const storage::OpenCampaign& campaign, Instant now) {
    std::vector<storage::Record> out;
    for (storage::StepRecord step : campaign.steps) {
        if (step.end != StepEnd::kNone) continue;
        step.state = "ended";
        step.end = StepEnd::kCancelled;
        step.message = "cancelled";
        out.emplace_back(std::move(step));
    }
    for (storage::TaskRecord task : campaign.tasks) {
        if (task.state != "waiting" && task.state != "running") continue;
        task.state = "cancelled";
        out.emplace_back(std::move(task));
    }
    storage::CampaignRecord record = campaign.record;
    record.state = "cancelled";
    record.ended = now;
    out.emplace_back(std::move(record));
    return out;
}

Result<std::vector<storage::Record>> reopened(const storage::OpenCampaign& campaign) {
    const std::string& state = campaign.record.state;
    if (campaign.record.ended == Instant{}) {
        return Error{ErrorKind::kInput, name_of(campaign) + " has not ended: it is " + state};
    }
    if (state != "failed" && state != "cancelled") {
        return Error{ErrorKind::kInput, name_of(campaign) + " is " + state + ": nothing of it has to be repeated"};
    }
    std::vector<storage::Record> out;
    for (storage::StepRecord step : campaign.steps) {
        if (step.end != StepEnd::kFailed && step.end != StepEnd::kCancelled) continue;
        step.state = "waiting";
        step.end = StepEnd::kNone;
        step.message.clear();
        out.emplace_back(std::move(step));
    }
    for (storage::TaskRecord task : campaign.tasks) {
        if (task.state != "failed" && task.state != "cancelled") continue;
        task.state = "waiting";
        task.action = ActionId{};
        out.emplace_back(std::move(task));
    }
    storage::CampaignRecord record = campaign.record;
    record.state = "interrupted";
    record.ended = Instant{};
    out.emplace_back(std::move(record));
    return out;
}

}  // namespace tunefarm::server
