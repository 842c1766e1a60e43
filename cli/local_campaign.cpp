// SPDX-License-Identifier: MIT
#include "cli/local_campaign.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "cli/campaign_end.h"
#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/signals.h"

namespace tunefarm::cli {

std::uint32_t usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

int run_to_end(LocalFarm& farm, const std::string& directory, CampaignId campaign) {
    ProgressLine line;
    const server::Core& core = farm.core();
    while (core.state(campaign) <= schedule::CampaignState::kRunning && !stop_requested()) {
        const Status turned = farm.turn(std::chrono::milliseconds(100));
        if (!turned.ok()) return fail(turned.error());
        line.show(core.progress(campaign));
    }
    line.clear();
    const bool stopped = core.state(campaign) <= schedule::CampaignState::kRunning;
    const Status flushed = farm.stop(!stopped, stopped ? "interrupted" : "the campaign has ended");
    if (!flushed.ok()) return fail(flushed.error());
    if (stopped) {
        std::fprintf(stderr,
                     "tunefarm: stopped; all that was acknowledged is kept: the same command goes on from here\n");
        return kExitInterrupted;
    }
    return print_end(directory, {campaign, core.campaigns().record(campaign)->state, core.input_errors(campaign),
                                 core.failures(campaign), line.elapsed_s()});
}

}  // namespace tunefarm::cli
