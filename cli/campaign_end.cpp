// SPDX-License-Identifier: MIT
#include "cli/campaign_end.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/result_files.h"
#include "cli/tables.h"
#include "coordinator/server/farm_clock.h"
#include "coordinator/server/server.h"
#include "storage/read_models.h"

namespace tunefarm::cli {
namespace {

void print_results(const std::string& directory, CampaignId campaign, double elapsed_s) {
    auto models = storage::ReadModels::open(server::database_path(directory));
    if (!models.ok()) return;
    storage::ResultsFilter filter;
    filter.campaign.id = campaign;
    const auto rows = (*models)->results(filter);
    if (rows.ok() && !rows->empty()) std::fputs(winners_table(*rows).c_str(), stdout);
    const auto campaigns = (*models)->status(server::wall_clock());
    if (!campaigns.ok()) return;
    for (const storage::CampaignStatus& status : *campaigns) {
        if (status.id != campaign) continue;
        std::string steps;
        for (const auto& [state, count] : status.steps)
            steps += fmt::format("{}{} {}", steps.empty() ? "" : ", ", count, state);
        std::int64_t executed = 0;
        std::int64_t cached = 0;
        for (const auto& [kind, counts] : status.tasks) {
            executed += counts.executed;
            cached += counts.cached;
        }
        fmt::print("\ncampaign {}: steps: {}; {} tasks executed, {} shared or from the cache; {}\n", campaign.value(),
                   steps, executed, cached, duration_s(elapsed_s));
    }
    const auto files = write_result_files(directory, campaign);
    if (!files.ok()) std::fprintf(stderr, "tunefarm: result files: %s\n", files.error().message.c_str());
    if (files.ok() && !files->empty()) fmt::print("result files are in {}\n", *files);
    fmt::print("everything is in {}: tunefarm results {}\n", directory, directory);
}

}  // namespace

int print_end(const std::string& directory, const CampaignEnd& end) {
    if (end.state == "cancelled") {
        std::fprintf(stderr, "tunefarm: campaign %ld was cancelled\n", end.campaign.value());
    }
    for (const std::string& error : end.input_errors) std::fprintf(stderr, "tunefarm: %s\n", error.c_str());
    if (end.state != "rejected") print_results(directory, end.campaign, end.elapsed_s);
    for (const std::string& failure : end.failures) std::fprintf(stderr, "tunefarm: failed: %s\n", failure.c_str());
    std::fflush(stdout);
    if (std::ferror(stdout) != 0) return fail(Error{ErrorKind::kIo, "standard output cannot be written"});
    if (end.state == "done") return kExitOk;
    return end.state == "rejected" && !end.input_errors.empty() ? kExitUsage : kExitStepFailed;
}

}  // namespace tunefarm::cli
