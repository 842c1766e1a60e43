// SPDX-License-Identifier: MIT
#include "benchmarks/worker_mode.h"

#include <cstdlib>
#include <string>

#include "cli/commands.h"

namespace tunefarm::benchmark {

std::optional<int> run_as_worker(int argc, char** argv) {
    if (argc < 2 || std::string(argv[1]) != "worker") return std::nullopt;
    cli::WorkerOptions options;
    for (int i = 2; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--exit-with-parent") options.exit_with_parent = true;
        if (i + 1 == argc) break;
        if (name == "--connect") options.connect = argv[++i];
        if (name == "--state") options.state = argv[++i];
        if (name == "--slots") options.slots = static_cast<std::uint32_t>(std::atoi(argv[++i]));
        if (name == "--driver") options.drivers.emplace_back(argv[++i]);
    }
    return cli::worker(options);
}

}  // namespace tunefarm::benchmark
