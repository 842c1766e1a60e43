// SPDX-License-Identifier: MIT
// results, status, timing: they read the database of a farm's directory, also while a coordinator writes it.
#include <fmt/format.h>

#include <cstdio>

#include "cli/commands.h"
#include "cli/tables.h"
#include "coordinator/server/farm_clock.h"
#include "coordinator/server/server.h"
#include "storage/read_models.h"

namespace tunefarm::cli {
namespace {

Result<std::unique_ptr<storage::ReadModels>> open(const ReadOptions& options) {
    auto models = storage::ReadModels::open(server::database_path(options.directory));
    if (!models.ok() && models.error().kind == ErrorKind::kNotFound) return no_results(options.directory);
    return models;
}

int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        return fail(errno_error("standard output"));
    }
    return kExitOk;
}

}  // namespace

int results(const ReadOptions& options) {
    auto models = open(options);
    if (!models.ok()) return fail(models.error());
    storage::ResultsFilter filter;
    filter.campaign.id = CampaignId(options.campaign);
    const auto rows = (*models)->results(filter);
    if (!rows.ok()) return fail(rows.error());
    if (options.json) return print(storage::to_json(*rows) + "\n");
    const auto steps = (*models)->steps(filter.campaign);
    if (!steps.ok()) return fail(steps.error());
    const std::string failed = failed_steps(*steps);
    if (rows->empty() && failed.empty()) return print("no results yet\n");
    return print((options.all ? all_results_table(*rows) + rejections(*steps) : winners_table(*rows)) + failed);
}

int status(const ReadOptions& options) {
    auto models = open(options);
    if (!models.ok()) return fail(models.error());
    const auto campaigns = (*models)->status(server::wall_clock());
    if (!campaigns.ok()) return fail(campaigns.error());
    return print(options.json ? storage::to_json(*campaigns) + "\n" : status_table(*campaigns));
}

int timing(const ReadOptions& options) {
    auto models = open(options);
    if (!models.ok()) return fail(models.error());
    storage::CampaignChoice choice;
    choice.id = CampaignId(options.campaign);
    const auto timing = (*models)->timing(choice, server::wall_clock());
    if (!timing.ok()) return fail(timing.error());
    return print(options.json ? storage::to_json(*timing) + "\n" : timing_tree(*timing));
}

int logs(const ReadOptions& options) {
    auto models = open(options);
    if (!models.ok()) return fail(models.error());
    storage::CampaignChoice choice;
    choice.id = CampaignId(options.campaign);
    const auto logs = (*models)->logs(choice, options.all);
    if (!logs.ok()) return fail(logs.error());
    return print(options.json ? storage::to_json(*logs) + "\n" : logs_text(*logs));
}

}  // namespace tunefarm::cli
