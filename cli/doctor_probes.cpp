// SPDX-License-Identifier: MIT
// What only running something, or the libraries themselves, can tell.
#include <capnp/common.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <zmq.h>
#include <zstd.h>

#include <cerrno>
#include <cstdlib>
#include <set>

#include "base/files.h"
#include "cli/doctor_facts.h"
#include "worker/devices/cpu_device.h"
#include "worker/runner/driver.h"

namespace tunefarm::cli {
namespace {

constexpr Micros kVersionLimit{5'000'000};

std::string temporary_folder() {
    const char* tmp = std::getenv("TMPDIR");
    return tmp != nullptr && *tmp != 0 ? tmp : "/tmp";
}

std::string version_of(const std::string& program, const std::string& directory) {
    worker::ProcessOptions options;
    options.command = {program, "--version"};
    options.directory = directory;
    options.environment = worker::clean_environment(directory, {});
    const auto said = worker::run_and_capture(options, kVersionLimit);
    return said.ok() ? said->substr(0, said->find('\n')) : "";
}

ToolchainFact look_at(const DriverArgument& argument, const std::string& directory) {
    ToolchainFact fact;
    fact.name = argument.toolchain;
    worker::DriverOptions options;
    options.toolchain = argument.toolchain;
    options.command = argument.command;
    options.directory = directory;
    options.environment = worker::clean_environment(directory, {});
    worker::Driver driver(options);
    const Status started = driver.start();
    if (!started.ok()) {
        fact.error = started.error().message;
        return fact;
    }
    const worker::DriverHello hello = driver.hello();
    driver.stop();
    for (const worker::HelloCapability& able : hello.capabilities)
        fact.capabilities.emplace_back(able.verb, able.target);
    for (const protocol::Missing& missing : hello.missing) fact.missing.emplace_back(missing.target, missing.reason);
    std::set<std::string> seen = {argument.command.front()};
    for (const worker::FileGroup& group : hello.groups) {
        for (const std::string& program : group.programs) {
            if (seen.insert(program).second) fact.programs.push_back({program, version_of(program, directory)});
        }
    }
    return fact;
}

std::int64_t soft_limit(decltype(RLIMIT_NOFILE) which) {
    struct rlimit limit{};
    if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
    return static_cast<std::int64_t>(limit.rlim_cur);
}

std::string dotted(unsigned version) {
    return std::to_string(version / 1000000) + "." + std::to_string(version / 1000 % 1000) + "." +
           std::to_string(version % 1000);
}

}  // namespace

std::vector<ToolchainFact> look_at_toolchains(const std::vector<DriverArgument>& drivers) {
    std::vector<ToolchainFact> facts;
    for (const DriverArgument& driver : drivers) {
        const auto directory = make_temporary_directory(temporary_folder() + "/tunefarm-doctor-");
        if (!directory.ok()) {
            facts.push_back({driver.toolchain, directory.error().message, {}, {}, {}});
            continue;
        }
        facts.push_back(look_at(driver, *directory));
        const Status removed = remove_tree(*directory);
        static_cast<void>(removed);  // an empty folder harms nobody
    }
    return facts;
}

HostFacts look_at_host(const std::vector<DriverArgument>& drivers, const std::string& directory) {
    HostFacts facts;
    facts.toolchains = look_at_toolchains(drivers);
    for (const protocol::Device& device : worker::CpuDevice().enumerate(1)) {
        facts.devices.push_back({device.id, device.target, device.description});
    }
    facts.gpus = look_at_gpus();
    facts.cpu = look_at_cpu();
    facts.memory = look_at_memory();
    facts.disks.push_back(look_at_disk("results", directory));
    facts.disks.push_back(look_at_disk("temporary files", temporary_folder()));
    facts.limits = {soft_limit(RLIMIT_NOFILE), soft_limit(RLIMIT_NPROC)};
    int major = 0;
    int minor = 0;
    int patch = 0;
    zmq_version(&major, &minor, &patch);
    facts.libraries = {{"SQLite", sqlite3_libversion()},
                       {"ZeroMQ", std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch)},
                       {"Cap'n Proto", dotted(CAPNP_VERSION)},
                       {"zstd", ZSTD_versionString()}};
    facts.curve = zmq_has("curve") != 0;
    struct timex clock{};
    const int state = ::adjtimex(&clock);
    if (state >= 0) facts.clock_synchronised = state != TIME_ERROR;
    return facts;
}

}  // namespace tunefarm::cli
