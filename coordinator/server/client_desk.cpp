// SPDX-License-Identifier: MIT
#include "coordinator/server/client_desk.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "coordinator/plan/normalised.h"
#include "coordinator/server/targets.h"
#include "protocol/limits.h"

namespace tunefarm::server {
namespace {

using nlohmann::json;

// Room for the frame around an answer's entries.
constexpr std::size_t kMaxEntries = protocol::kMaxJson - 4096;

std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Error unknown(CampaignId campaign) {
    return Error{ErrorKind::kNotFound, "no campaign " + std::to_string(campaign.value()) +
                                           " runs in this coordinator: tunefarm status DIR lists all"};
}

bool runs(const Core& core, CampaignId campaign) {
    return core.campaigns().record(campaign) != nullptr && core.state(campaign) <= schedule::CampaignState::kRunning;
}

/// The campaign that is meant; none named: the only one that runs.
Result<CampaignId> chosen(const Desk& desk, CampaignId named) {
    const auto waiting = desk.submissions.waiting();
    if (named.valid()) {
        if (!runs(desk.core, named) && !waiting.contains(named)) return unknown(named);
        return named;
    }
    std::vector<CampaignId> running = desk.core.campaigns().running();
    for (const auto& [id, name] : waiting) running.push_back(id);
    if (running.empty()) return Error{ErrorKind::kNotFound, "no campaign is running"};
    if (running.size() == 1) return running.front();
    std::string ids;
    for (const CampaignId id : running) ids += " " + std::to_string(id.value());
    return Error{ErrorKind::kInput, "several campaigns are running; name one with --campaign:" + ids};
}

bool asked_for(const protocol::ExplainTasks& ask, const Explanation& entry, const Campaigns::Place& place) {
    // Tasks that wait together for other tasks are one entry, whatever their index.
    return (!ask.step || *ask.step == place.step) && (!ask.index || *ask.index == entry.index || entry.count > 1);
}

Result<json> explain(const Desk& desk, const protocol::ExplainTasks& ask, Instant now) {
    const Core& core = desk.core;
    json waiting = json::array();
    for (const auto& [id, name] : desk.submissions.waiting()) {
        if (ask.campaign.valid() && ask.campaign != id) continue;
        waiting.push_back({{"id", id.value()}, {"name", name}});
    }
    std::vector<CampaignId> wanted = core.campaigns().running();
    if (ask.campaign.valid()) {
        if (!runs(core, ask.campaign) && waiting.empty()) return unknown(ask.campaign);
        std::erase_if(wanted, [&](CampaignId id) { return id != ask.campaign; });
    }
    json campaigns = json::array();
    std::size_t size = 0;
    std::int64_t left_out = 0;
    for (const CampaignId id : wanted) {
        json tasks = json::array();
        for (const Explanation& entry : core.explain(id, std::nullopt, ask.kind, now)) {
            const Campaigns::Place place = core.campaigns().place(entry.config, entry.step);
            if (!asked_for(ask, entry, place)) continue;
            json task = {{"config", place.config},
                         {"kind", to_string(entry.kind)},
                         {"index", entry.index},
                         {"count", entry.count},
                         {"state", entry.running ? "running" : "waiting"},
                         {"reasons", entry.reasons}};
            task["step"] = place.step >= 0 ? json(place.step) : json();
            task["target"] = place.step >= 0 ? json(place.target) : json();
            size += text_of(task).size() + 1;
            if (size > kMaxEntries) {
                ++left_out;
            } else {
                tasks.push_back(std::move(task));
            }
        }
        campaigns.push_back(
            {{"id", id.value()}, {"name", core.campaigns().record(id)->name}, {"tasks", std::move(tasks)}});
    }
    return json{{"version", 1},
                {"workers", core.workers()},
                {"campaigns", std::move(campaigns)},
                {"unfinished", std::move(waiting)},
                {"left_out", left_out}};
}

Result<json> cancel(const Desk& desk, const protocol::CancelCampaign& ask, Instant now) {
    TUNEFARM_ASSIGN(const CampaignId id, chosen(desk, ask.campaign));
    if (desk.submissions.waiting().contains(id)) {
        TUNEFARM_TRY(desk.submissions.cancel_waiting(id, now));
    } else {
        desk.core.cancel(id, now);
    }
    return json{{"version", 1}, {"campaign", id.value()}};
}

Result<json> submit(const Desk& desk, const protocol::SubmitCampaign& ask, Instant now) {
    if (ask.configs.empty()) return Error{ErrorKind::kInput, "a campaign needs a config"};
    CampaignRequest request;
    request.name = ask.name;
    request.build_only = ask.build_only;
    request.priority = ask.priority;
    for (const protocol::SubmitCampaign::Config& from : ask.configs) {
        auto bytes = desk.artifacts.get(from.content);
        if (!bytes.ok()) return bytes.error().in(from.path);
        TUNEFARM_ASSIGN(plan::Config config, plan::parse_config(*bytes, from.path));
        std::string normalised = plan::normalised_json(config);
        request.configs.push_back({std::move(config), std::move(normalised), std::move(bytes).value()});
    }
    std::vector<std::string> notes;
    TUNEFARM_TRY(choose_targets(desk.core, ask.targets, request, notes));
    TUNEFARM_ASSIGN(const Submitted submitted, desk.submissions.submit(std::move(request), now));
    return json{{"version", 1},
                {"campaign", submitted.campaign.value()},
                {"resumed", submitted.resumed},
                {"joined", submitted.joined},
                {"notes", std::move(notes)}};
}

Result<json> retry(const Desk& desk, const protocol::RetryCampaign& ask) {
    TUNEFARM_ASSIGN(const CampaignId id, desk.submissions.retry(ask.campaign, ask.forget));
    return json{{"version", 1}, {"campaign", id.value()}};
}

Result<json> progress(const Core& core, const protocol::CampaignProgress& ask) {
    const storage::CampaignRecord* record = core.campaigns().record(ask.campaign);
    if (record == nullptr) return unknown(ask.campaign);
    const Progress progress = core.progress(ask.campaign);
    return json{{"version", 1},
                {"id", ask.campaign.value()},
                {"name", record->name},
                {"state", record->state},
                {"done", progress.done},
                {"failed", progress.failed},
                {"running", progress.running},
                {"left", progress.left},
                {"lower_bound_s", progress.lower_bound_s},
                {"left_s", progress.left_s},
                {"input_errors", core.input_errors(ask.campaign)},
                {"failures", core.failures(ask.campaign)}};
}

}  // namespace

bool changes(const protocol::ClientRequest& request) {
    return !std::holds_alternative<protocol::ExplainTasks>(request.what) &&
           !std::holds_alternative<protocol::CampaignProgress>(request.what);
}

protocol::ClientReply answer(const Desk& desk, const protocol::ClientRequest& request, Instant now) {
    Result<json> result = Error{};
    if (const auto* ask = std::get_if<protocol::ExplainTasks>(&request.what)) result = explain(desk, *ask, now);
    if (const auto* ask = std::get_if<protocol::CancelCampaign>(&request.what)) result = cancel(desk, *ask, now);
    if (const auto* ask = std::get_if<protocol::CampaignProgress>(&request.what)) result = progress(desk.core, *ask);
    if (const auto* ask = std::get_if<protocol::SubmitCampaign>(&request.what)) result = submit(desk, *ask, now);
    if (const auto* ask = std::get_if<protocol::RetryCampaign>(&request.what)) result = retry(desk, *ask);
    protocol::ClientReply reply;
    reply.request = request.request;
    reply.ok = result.ok();
    if (result.ok()) reply.answer = text_of(*result);
    if (!result.ok()) {
        reply.kind = result.error().kind;
        reply.message = result.error().message;
    }
    return reply;
}

}  // namespace tunefarm::server
