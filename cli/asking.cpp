// SPDX-License-Identifier: MIT
// explain, cancel: they ask the coordinator that runs in a farm's directory.
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/farm_client.h"
#include "cli/offline.h"

namespace tunefarm::cli {
namespace {

using nlohmann::json;

Result<std::int32_t> parse_number(const std::string& text, const std::string& what) {
    std::int32_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || value < 0) {
        return Error{ErrorKind::kInput, what + " '" + text + "': not a number from 0"};
    }
    return value;
}

Result<protocol::ExplainTasks> parse_ask(const ExplainOptions& options) {
    protocol::ExplainTasks ask;
    ask.campaign = CampaignId(options.campaign);
    if (!options.step.empty()) {
        TUNEFARM_ASSIGN(ask.step, parse_number(options.step, "step"));
    }
    if (options.task.empty()) return ask;
    const std::size_t slash = options.task.find('/');
    const std::string kind = options.task.substr(0, slash);
    std::string kinds;
    for (int i = 0; i < kTaskKinds; ++i) {
        const std::string name = to_string(static_cast<TaskKind>(i));
        if (name == kind) ask.kind = static_cast<TaskKind>(i);
        kinds += " " + name;
    }
    if (!ask.kind) return Error{ErrorKind::kInput, "no kind of task '" + kind + "'; the kinds are:" + kinds};
    if (slash != std::string::npos) {
        TUNEFARM_ASSIGN(ask.index, parse_number(options.task.substr(slash + 1), "index"));
    }
    return ask;
}

/// "  step 3 (gfx950) of a.yaml".
std::string place_of(const json& task) {
    const std::string config = task.at("config").get<std::string>();
    if (task.at("step").is_null()) return config;
    return fmt::format("{} step {} ({})", config, task.at("step").get<int>(), task.at("target").get<std::string>());
}

std::string explanation(const std::string& text) {
    const json answer = json::parse(text);
    std::string out;
    for (const json& campaign : answer.at("campaigns")) {
        out += fmt::format("campaign {} ({})\n", campaign.at("id").get<std::int64_t>(),
                           campaign.at("name").get<std::string>());
        if (campaign.at("tasks").empty()) out += "  nothing waits or runs here\n";
        std::string last;
        for (const json& task : campaign.at("tasks")) {
            const std::string place = place_of(task);
            if (place != last) out += "  " + place + "\n";
            last = place;
            const auto count = task.at("count").get<std::int64_t>();
            const auto kind = task.at("kind").get<std::string>();
            out += "    " + (count == 1 ? fmt::format("{}/{}", kind, task.at("index").get<int>())
                                        : fmt::format("{} {}", count, kind));
            out += " " + task.at("state").get<std::string>() + ":";
            const json& reasons = task.at("reasons");
            if (reasons.size() == 1) {
                out += " " + reasons.front().get<std::string>() + "\n";
            } else {
                out += "\n";
                for (const json& reason : reasons) out += "      " + reason.get<std::string>() + "\n";
            }
        }
    }
    for (const json& campaign : answer.at("unfinished")) {
        out += fmt::format("campaign {} ({})\n  waits for workers with exactly the toolchains that it was begun with\n",
                           campaign.at("id").get<std::int64_t>(), campaign.at("name").get<std::string>());
    }
    if (const auto left_out = answer.at("left_out").get<std::int64_t>(); left_out > 0) {
        out += fmt::format("{} more; name a step and a kind to see them\n", left_out);
    }
    return out.empty() ? "no campaign is running\n" : out;
}

int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        return fail(errno_error("standard output"));
    }
    return kExitOk;
}

}  // namespace

int explain(const ExplainOptions& options) {
    const auto ask = parse_ask(options);
    if (!ask.ok()) return fail(ask.error());
    auto client = FarmClient::find(options.directory, options.keys);
    if (!client.ok()) return fail(client.error());
    if (!client->has_value()) {
        return fail(Error{ErrorKind::kNotFound, options.directory + ": no coordinator runs here, so nothing waits; "
                                                                    "`tunefarm status` shows what has ended"});
    }
    const auto answer = (*client)->ask(*ask);
    if (!answer.ok()) return fail(answer.error());
    return print(options.json ? *answer + "\n" : explanation(*answer));
}

int cancel(const CancelOptions& options) {
    auto client = FarmClient::find(options.directory, options.keys);
    if (!client.ok()) return fail(client.error());
    Result<CampaignId> ended = CampaignId{};
    if (client->has_value()) {
        const auto answer = (*client)->ask(protocol::CancelCampaign{CampaignId(options.campaign)});
        if (!answer.ok()) return fail(answer.error());
        ended = CampaignId(json::parse(*answer).at("campaign").get<std::int64_t>());
    } else {
        ended = cancel_offline(options.directory, CampaignId(options.campaign));
        if (!ended.ok()) return fail(ended.error());
    }
    fmt::print("campaign {} is cancelled; what it had measured is kept\n", ended->value());
    return kExitOk;
}

}  // namespace tunefarm::cli
