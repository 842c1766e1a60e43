// SPDX-License-Identifier: MIT
// run: a whole campaign on this host.
#include <cstdio>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/config_files.h"
#include "cli/local_campaign.h"
#include "cli/local_drivers.h"
#include "cli/local_farm.h"
#include "cli/signals.h"
#include "coordinator/server/coordinator_file.h"
#include "coordinator/server/targets.h"

namespace tunefarm::cli {

int run(const RunOptions& options) {
    log::start("coordinator", log::Level::kWarning);
    if (options.out.empty()) return fail(Error{ErrorKind::kInput, "--out: the name of a directory is missing"});
    auto request = read_configs(options.configs, options.name);
    if (!request.ok()) return fail(request.error());
    for (const server::CampaignConfig& config : request->configs) {
        const Status expected = expect_toolchain(config.config, options.toolchain);
        if (!expected.ok()) return fail(expected.error());
    }
    request->build_only = options.build_only;
    request->priority = options.priority;
    const auto drivers = local_drivers(options.drivers);
    if (!drivers.ok()) return fail(drivers.error());
    const auto other = server::find_coordinator(options.out);
    if (other.ok() && other->has_value()) {
        return fail(Error{ErrorKind::kUnavailable, options.out + ": the coordinator of process " +
                                                       std::to_string((*other)->pid) + " on " + (*other)->host +
                                                       " runs here: `tunefarm submit --to " + options.out +
                                                       "` gives it your configs"});
    }
    // Signals are counted from here on: a Ctrl-C during the start still ends in an orderly stop.
    catch_stop_signals();
    auto farm =
        LocalFarm::start(options.out, options.jobs > 0 ? options.jobs : usable_cpus(), options.drivers, stop_requested);
    if (!farm.ok() && farm.error().kind == ErrorKind::kCancelled) return kExitInterrupted;
    if (!farm.ok()) return fail(farm.error().in(options.out));
    std::vector<std::string> notes;
    const Status targets = server::choose_targets((*farm)->core(), options.targets, *request, notes);
    if (!targets.ok()) return fail(targets.error());
    for (const std::string& note : notes) std::fprintf(stderr, "tunefarm: %s\n", note.c_str());
    const auto submitted = (*farm)->server().submit(*std::move(request));
    if (!submitted.ok()) return fail(submitted.error());
    const CampaignId campaign = submitted->campaign;
    if (submitted->resumed) std::fprintf(stderr, "tunefarm: campaign %ld goes on where it stopped\n", campaign.value());
    return run_to_end(**farm, options.out, campaign);
}

}  // namespace tunefarm::cli
