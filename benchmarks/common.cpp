// SPDX-License-Identifier: MIT
#include "benchmarks/common.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/files.h"

namespace tunefarm::benchmark {

std::string machine() {
    std::string model = "unknown CPU";
    std::ifstream cpus("/proc/cpuinfo");
    for (std::string line; std::getline(cpus, line);) {
        if (line.rfind("model name", 0) != 0) continue;
        model = line.substr(line.find(':') + 2);
        break;
    }
    utsname system{};
    ::uname(&system);
    std::array<double, 1> load{};
    ::getloadavg(load.data(), 1);
    const std::int64_t memory = (::sysconf(_SC_PHYS_PAGES) * ::sysconf(_SC_PAGESIZE)) >> 30;
    std::array<char, 16> load_text{};
    std::snprintf(load_text.data(), load_text.size(), "%.1f", load[0]);
    return model + ", " + std::to_string(usable_cpus()) + " usable CPUs, " + std::to_string(memory) + " GiB, " +
           system.sysname + " " + system.release + ", load before the start " + load_text.data();
}

void fail(const Error& error) {
    std::fprintf(stderr, "benchmark: %s\n", error.message.c_str());
    std::exit(3);
}

void need(const Status& status) {
    if (!status.ok()) fail(status.error());
}

std::uint32_t usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

TemporaryDirectory::TemporaryDirectory() {
    const char* base = std::getenv("TMPDIR");
    path_ = need(make_temporary_directory(std::string(base != nullptr ? base : "/tmp") + "/tunefarm-bench-"));
}

TemporaryDirectory::~TemporaryDirectory() {
    const Status removed = remove_tree(path_);
    if (!removed.ok()) std::fprintf(stderr, "benchmark: %s\n", removed.error().message.c_str());
}

}  // namespace tunefarm::benchmark
