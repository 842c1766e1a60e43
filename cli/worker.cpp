// SPDX-License-Identifier: MIT
// worker: the agent of this host.
#include "worker/agent/agent.h"

#include <sched.h>

#include <csignal>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/local_drivers.h"
#include "worker/devices/cpu_device.h"

namespace tunefarm::cli {
namespace {

worker::Agent* g_agent = nullptr;  // for the signal handler; request_stop is safe there
int g_signals = 0;

void on_signal(int) {
    // The first signal lets running work end, the second one stops it.
    if (g_agent != nullptr) g_agent->request_stop(g_signals++ == 0);
}

}  // namespace

int worker(const WorkerOptions& options) {
    log::start("worker", log::Level::kInfo);
    const auto drivers = local_drivers(options.drivers);
    if (!drivers.ok()) return fail(drivers.error());
    const auto credentials = worker_credentials(options.keys, options.connect);
    if (!credentials.ok()) return fail(credentials.error());
    worker::AgentOptions agent;
    agent.endpoint = options.connect;
    agent.curve = credentials->curve;
    agent.insecure = credentials->insecure;
    agent.host = options.host;
    agent.slots = options.slots;
    agent.memory = Bytes{options.memory_mib << 20};
    agent.state_dir = options.state;
    agent.exit_with_parent = options.exit_with_parent;
    if (options.exit_with_parent) {
        // Its coordinator is its parent: when that is gone there is nobody to wait for.
        agent.give_up = Micros(10'000'000);
    }
    for (const DriverArgument& driver : *drivers) agent.drivers.push_back({driver.toolchain, driver.command, {}});
    const worker::CpuDevice cpu;
    agent.devices.push_back(&cpu);

    worker::Agent instance(std::move(agent));
    g_agent = &instance;
    struct sigaction action{};
    action.sa_handler = on_signal;
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGXFSZ, SIG_IGN);
    // A terminal's Ctrl-C reaches the whole process group: the parent decides what becomes of it.
    if (options.exit_with_parent) {
        ::signal(SIGINT, SIG_IGN);
    } else {
        ::sigaction(SIGINT, &action, nullptr);
    }
    const auto ended = instance.run();
    g_agent = nullptr;
    if (!ended.ok()) return fail(ended.error());
    return *ended;
}

}  // namespace tunefarm::cli
