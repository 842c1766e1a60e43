// SPDX-License-Identifier: MIT
// plan: what a run would do, without doing it.
#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/local_drivers.h"
#include "coordinator/plan/report.h"

namespace tunefarm::cli {

int plan(const PlanOptions& options) {
    const auto drivers = local_drivers(options.drivers);
    if (!drivers.ok()) return fail(drivers.error());
    std::vector<plan::PlannedConfig> planned;
    for (const std::string& path : options.configs) {
        const auto config = plan::load_config(path);
        if (!config.ok()) return fail(config.error());
        const Status expected = expect_toolchain(*config, options.toolchain);
        if (!expected.ok()) return fail(expected.error());
        auto units = split_here(*config, *drivers);
        // A toolchain that is not here leaves its names unknown; the file alone tells the rest.
        if (!units.ok() && units.error().kind == ErrorKind::kInput) return fail(units.error());
        const bool named = std::any_of(drivers->begin(), drivers->end(),
                                       [&](const DriverArgument& d) { return d.toolchain == config->toolchain; });
        if (!units.ok() && named) std::fprintf(stderr, "tunefarm: %s\n", units.error().message.c_str());
        planned.push_back({path, config->toolchain, units.ok() ? std::move(*units) : plan::units_of(*config)});
    }
    const std::string text = options.json  ? plan::plan_json(planned)
                             : options.dot ? plan::plan_dot(planned)
                                           : plan::plan_text(planned, options.targets);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        return fail(errno_error("standard output"));
    return kExitOk;
}

}  // namespace tunefarm::cli
