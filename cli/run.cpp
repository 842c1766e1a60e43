// SPDX-License-Identifier: MIT
// run: a whole campaign on this host.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "base/files.h"
#include "base/log.h"
#include "base/target.h"
#include "cli/commands.h"
#include "cli/local_drivers.h"
#include "cli/local_farm.h"
#include "cli/progress.h"
#include "cli/result_files.h"
#include "cli/tables.h"
#include "coordinator/plan/normalised.h"
#include "storage/read_models.h"

namespace tunefarm::cli {
namespace {

constexpr std::int64_t kMaxConfig = 64LL << 20;

volatile std::sig_atomic_t g_stop = 0;
void on_signal(int) {
    g_stop = g_stop + 1;
}

std::uint32_t usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

Result<server::CampaignRequest> read_configs(const RunOptions& options) {
    server::CampaignRequest request;
    request.build_only = options.build_only;
    request.priority = options.priority;
    for (const std::string& path : options.configs) {
        TUNEFARM_ASSIGN(const std::string bytes, read_file(path, kMaxConfig));
        TUNEFARM_ASSIGN(plan::Config config, plan::parse_config(bytes, path));
        std::string normalised = plan::normalised_json(config);
        request.configs.push_back({std::move(config), std::move(normalised), bytes});
    }
    const std::string& first = options.configs.front();
    const std::string file = first.substr(first.rfind('/') + 1);
    request.name = !options.name.empty()         ? options.name
                   : options.configs.size() == 1 ? file
                                                 : fmt::format("{} and {} more", file, options.configs.size() - 1);
    return request;
}

std::string reasons(const server::Core& core, const std::string& toolchain, const std::string& target) {
    std::string out;
    for (const std::string& reason : core.missing(toolchain, target)) out += (out.empty() ? "" : "; ") + reason;
    return out;
}

/// Canonical targets, each checked against what the connected worker can do.
Status choose_targets(const RunOptions& options, server::Core& core, server::CampaignRequest& request) {
    const std::vector<std::string> devices = core.device_targets();
    std::vector<std::string> wanted = options.targets;
    if (wanted.empty()) {
        if (devices.empty()) {
            return Error{ErrorKind::kInput,
                         "this host has no device to measure on: name what to build for with --target"};
        }
        wanted.push_back(devices.front());
    }
    for (const std::string& name : wanted) {
        const auto target = resolve_target(name, devices);
        if (!target) return Error{ErrorKind::kInput, "--target " + name + ": this host has no x86-64 device"};
        if (std::count(request.targets.begin(), request.targets.end(), *target) > 0) continue;
        for (const server::CampaignConfig& config : request.configs) {
            const std::string& toolchain = config.config.toolchain;
            if (!core.can(TaskKind::kSplit, toolchain, "*")) {
                const std::string reason = reasons(core, toolchain, "*");
                return Error{
                    ErrorKind::kInput,
                    config.config.path + ": " +
                        (reason.empty() ? "there is no driver for toolchain " + toolchain +
                                              " here; built in: gemm; others: --driver NAME=PROGRAM"
                                        : "the driver of toolchain " + toolchain + " does not work: " + reason)};
            }
            if (core.can(TaskKind::kBuild, toolchain, *target)) continue;
            const std::string why = reasons(core, toolchain, *target);
            const std::string what = options.targets.empty()
                                         ? "this host's device is " + name + ": name another target with --target"
                                         : "--target " + name;
            return Error{ErrorKind::kInput, what + ": toolchain " + toolchain + " cannot build for it here: " +
                                                (why.empty() ? "it does not know this target" : why)};
        }
        request.targets.push_back(*target);
        const bool measurable = core.has_device(*target) && !options.build_only;
        if (measurable) {
            request.measured_targets.push_back(*target);
        } else if (!options.build_only) {
            std::fprintf(stderr, "tunefarm: no device for %s here: its kernels are built, not measured\n",
                         target->c_str());
        }
    }
    return {};
}

int end_of(const server::Core& core, CampaignId campaign) {
    switch (core.state(campaign)) {
        case schedule::CampaignState::kDone: return kExitOk;
        case schedule::CampaignState::kRejected:
            return core.input_errors(campaign).empty() ? kExitStepFailed : kExitUsage;
        default: return kExitStepFailed;
    }
}

void print_end(const std::string& directory, CampaignId campaign, double elapsed_s) {
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

int run(const RunOptions& options) {
    log::start("coordinator", log::Level::kWarning);
    if (options.out.empty()) return fail(Error{ErrorKind::kInput, "--out: the name of a directory is missing"});
    auto request = read_configs(options);
    if (!request.ok()) return fail(request.error());
    const auto drivers = local_drivers(options.drivers);
    if (!drivers.ok()) return fail(drivers.error());
    // Signals are counted from here on: a Ctrl-C during the start still ends in an orderly stop.
    struct sigaction action{};
    action.sa_handler = on_signal;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then an error of the write, with a message

    const std::uint32_t slots = options.jobs > 0 ? options.jobs : usable_cpus();
    auto farm = LocalFarm::start(options.out, slots, options.drivers, [] { return g_stop != 0; });
    if (!farm.ok() && farm.error().kind == ErrorKind::kCancelled) return kExitInterrupted;
    if (!farm.ok()) return fail(farm.error().in(options.out));
    const Status targets = choose_targets(options, (*farm)->core(), *request);
    if (!targets.ok()) return fail(targets.error());
    const auto submitted = (*farm)->server().submit(*request);
    if (!submitted.ok()) return fail(submitted.error());
    const CampaignId campaign = submitted->campaign;
    if (submitted->resumed) std::fprintf(stderr, "tunefarm: campaign %ld goes on where it stopped\n", campaign.value());

    ProgressLine line;
    const server::Core& core = (*farm)->core();
    while (core.state(campaign) <= schedule::CampaignState::kRunning && g_stop == 0) {
        const Status turned = (*farm)->turn(std::chrono::milliseconds(100));
        if (!turned.ok()) return fail(turned.error());
        line.show(core.progress(campaign));
    }
    line.clear();
    const bool stopped = core.state(campaign) <= schedule::CampaignState::kRunning;
    const Status flushed = (*farm)->stop(!stopped, stopped ? "interrupted" : "the campaign has ended");
    if (!flushed.ok()) return fail(flushed.error());
    if (stopped) {
        std::fprintf(stderr,
                     "tunefarm: stopped; all that was acknowledged is kept: the same command goes on from here\n");
        return kExitInterrupted;
    }
    if (core.state(campaign) == schedule::CampaignState::kCancelled) {
        std::fprintf(stderr, "tunefarm: campaign %ld was cancelled\n", campaign.value());
    }
    for (const std::string& error : core.input_errors(campaign)) std::fprintf(stderr, "tunefarm: %s\n", error.c_str());
    if (core.state(campaign) != schedule::CampaignState::kRejected) print_end(options.out, campaign, line.elapsed_s());
    for (const std::string& failure : core.failures(campaign))
        std::fprintf(stderr, "tunefarm: failed: %s\n", failure.c_str());
    std::fflush(stdout);
    if (std::ferror(stdout) != 0) return fail(Error{ErrorKind::kIo, "standard output cannot be written"});
    return end_of(core, campaign);
}

}  // namespace tunefarm::cli
