// SPDX-License-Identifier: MIT
// submit, retry: campaigns of the coordinator that runs in a farm's directory.
#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.h"
#include "cli/campaign_end.h"
#include "cli/commands.h"
#include "cli/config_files.h"
#include "cli/farm_client.h"
#include "cli/local_campaign.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "coordinator/server/server.h"
#include "protocol/artifact_client.h"
#include "storage/state_reader.h"

namespace tunefarm::cli {
namespace {

using nlohmann::json;

Status upload(const FarmClient& client, const server::CampaignRequest& request) {
    protocol::ArtifactClient::Options options;
    options.socket.curve = client.credentials().curve;
    options.socket.insecure = client.credentials().insecure;
    options.give_up = std::chrono::seconds(20);
    protocol::ArtifactClient artifacts(client.context(), client.place().artifacts, options);
    std::vector<protocol::LocalArtifact> files;
    for (const server::CampaignConfig& config : request.configs)
        files.push_back({sha256(config.bytes), "", config.bytes});
    return artifacts.put_all(files);
}

Result<std::string> submit_to(FarmClient& client, const SubmitOptions& options) {
    TUNEFARM_ASSIGN(const server::CampaignRequest request, read_configs(options.configs, options.name));
    TUNEFARM_TRY(upload(client, request));
    protocol::SubmitCampaign ask;
    ask.name = request.name;
    ask.targets = options.targets;
    ask.build_only = options.build_only;
    ask.priority = options.priority;
    for (const server::CampaignConfig& config : request.configs) {
        ask.configs.push_back({config.config.path, sha256(config.bytes)});
    }
    return client.ask(ask, std::chrono::seconds(60));
}

/// The campaign as the database has it: for when its coordinator is another one now.
std::string stored_state(const std::string& directory, CampaignId campaign) {
    auto reader = storage::StateReader::open(server::database_path(directory));
    if (!reader.ok()) return "";
    const auto stored = (*reader)->campaign(campaign);
    return stored.ok() && stored->record.ended != Instant{} ? stored->record.state : "";
}

server::Progress progress_of(const json& answer) {
    server::Progress progress;
    answer.at("done").get_to(progress.done);
    answer.at("failed").get_to(progress.failed);
    answer.at("running").get_to(progress.running);
    answer.at("left").get_to(progress.left);
    answer.at("lower_bound_s").get_to(progress.lower_bound_s);
    answer.at("left_s").get_to(progress.left_s);
    return progress;
}

int wait_for_end(const std::string& directory, const KeyOptions& keys, CampaignId campaign) {
    ProgressLine line;
    std::optional<FarmClient> client;
    CampaignEnd end;
    end.campaign = campaign;
    while (end.state.empty()) {
        if (stop_requested()) {
            line.clear();
            std::fprintf(stderr, "tunefarm: campaign %ld goes on without this command: tunefarm status %s\n",
                         campaign.value(), directory.c_str());
            return kExitInterrupted;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (!client) {
            auto found = FarmClient::find(directory, keys);
            if (!found.ok()) return fail(found.error());
            client = std::move(*found);
        }
        const auto answer = client ? client->ask(protocol::CampaignProgress{campaign}, std::chrono::seconds(2))
                                   : Result<std::string>(Error{ErrorKind::kUnavailable, ""});
        if (!answer.ok()) {
            // Stopped, killed or started again: the campaign goes on with the next coordinator, and so does this wait.
            if (answer.error().kind == ErrorKind::kUnavailable) client.reset();
            if (answer.error().kind == ErrorKind::kUnsupported) {
                line.clear();
                return fail(answer.error());
            }
            end.state = stored_state(directory, campaign);
            continue;
        }
        const json progress = json::parse(*answer);
        const auto state = progress.at("state").get<std::string>();
        line.show(progress_of(progress));
        if (state == "running" || state == "interrupted") continue;
        end.state = state;
        progress.at("input_errors").get_to(end.input_errors);
        progress.at("failures").get_to(end.failures);
    }
    line.clear();
    end.elapsed_s = line.elapsed_s();
    return print_end(directory, end);
}

}  // namespace

int submit(const SubmitOptions& options) {
    auto client = FarmClient::find(options.directory, options.keys);
    if (!client.ok()) return fail(client.error());
    if (!client->has_value()) {
        return fail(Error{ErrorKind::kNotFound, options.directory +
                                                    ": no coordinator runs here: start `tunefarm "
                                                    "coordinator " +
                                                    options.directory + "`, or use `tunefarm run`"});
    }
    catch_stop_signals();
    const auto reply = submit_to(**client, options);
    if (!reply.ok()) return fail(reply.error());
    const json answer = json::parse(*reply);
    const CampaignId campaign(answer.at("campaign").get<std::int64_t>());
    for (const json& note : answer.at("notes")) {
        std::fprintf(stderr, "tunefarm: %s\n", note.get<std::string>().c_str());
    }
    const char* how = answer.at("joined").get<bool>()    ? "is running already"
                      : answer.at("resumed").get<bool>() ? "goes on where it stopped"
                                                         : "is submitted";
    fmt::print("campaign {} {}\n", campaign.value(), how);
    std::fflush(stdout);
    return options.wait ? wait_for_end(options.directory, options.keys, campaign) : kExitOk;
}

int retry(const RetryOptions& options) {
    auto client = FarmClient::find(options.directory, options.keys);
    if (!client.ok()) return fail(client.error());
    if (client->has_value()) {
        const auto answer = (*client)->ask(protocol::RetryCampaign{CampaignId(options.campaign), options.forget});
        if (!answer.ok()) return fail(answer.error());
        fmt::print("campaign {} goes on\n", json::parse(*answer).at("campaign").get<std::int64_t>());
        return kExitOk;
    }
    {
        const auto there = storage::Database::open_readonly(server::database_path(options.directory));
        if (!there.ok() && there.error().kind == ErrorKind::kNotFound) return fail(no_results(options.directory));
    }
    log::start("coordinator", log::Level::kWarning);
    catch_stop_signals();
    auto farm = LocalFarm::start(options.directory, options.jobs > 0 ? options.jobs : usable_cpus(), options.drivers,
                                 stop_requested);
    if (!farm.ok() && farm.error().kind == ErrorKind::kCancelled) return kExitInterrupted;
    if (!farm.ok()) return fail(farm.error().in(options.directory));
    const auto campaign = (*farm)->server().retry(CampaignId(options.campaign), options.forget);
    if (!campaign.ok()) return fail(campaign.error());
    return run_to_end(**farm, options.directory, *campaign);
}

}  // namespace tunefarm::cli
