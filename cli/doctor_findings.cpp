// SPDX-License-Identifier: MIT
#include "cli/doctor_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/target.h"

namespace tunefarm::cli {
namespace {

using Level = Finding::Level;

constexpr std::int64_t kGib = 1LL << 30;
/// A worker needs a few descriptors per slot, driver and transfer.
constexpr std::int64_t kFewFiles = 1024;
constexpr std::int64_t kFewProcesses = 512;
constexpr std::int64_t kTooLittleDisk = kGib;
constexpr std::int64_t kLittleDisk = 10 * kGib;
/// A kernel compile takes up to some hundred MB.
constexpr std::int64_t kLittleMemory = 2 * kGib;
/// Each result waits for a sync: slower ones bound what a farm records per second.
constexpr double kSlowSyncMs = 50;
/// Of the allowed CPUs: more than this is somebody else's work beside the measurements.
constexpr double kBusyShare = 0.25;

double gib(Bytes bytes) {
    return static_cast<double>(bytes.count) / static_cast<double>(kGib);
}

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
    return out;
}

bool has(const ToolchainFact& toolchain, TaskKind verb, const std::string& target) {
    return std::any_of(toolchain.capabilities.begin(), toolchain.capabilities.end(), [&](const auto& able) {
        return able.first == verb && (able.second == target || able.second == "*");
    });
}

TargetFact target_fact(const HostFacts& facts, const std::string& target) {
    TargetFact out{target, {}, false};
    const bool runs = std::any_of(facts.devices.begin(), facts.devices.end(),
                                  [&](const DeviceFact& device) { return runs_on(device.target, target); });
    for (const ToolchainFact& toolchain : facts.toolchains) {
        if (has(toolchain, TaskKind::kBuild, target)) out.builders.push_back(toolchain.name);
        out.measured = out.measured || (runs && has(toolchain, TaskKind::kMeasure, target));
    }
    return out;
}

std::string reason_of(const HostFacts& facts, const std::string& target) {
    std::string why;
    for (const ToolchainFact& toolchain : facts.toolchains) {
        for (const auto& [name, reason] : toolchain.missing) {
            if (name == target) why += (why.empty() ? "" : "; ") + toolchain.name + ": " + reason;
        }
    }
    return why;
}

void add_targets(const HostFacts& facts, const std::vector<std::string>& wanted, std::vector<Finding>& out) {
    for (const ToolchainFact& toolchain : facts.toolchains) {
        if (!toolchain.error.empty()) {
            out.push_back({"toolchain", Level::kProblem, toolchain.name,
                           "its driver does not start: " + toolchain.error,
                           "build tunefarm again, or correct --driver"});
            continue;
        }
        // A driver that starts without what it drives: it misses every target.
        const auto all = std::find_if(toolchain.missing.begin(), toolchain.missing.end(),
                                      [](const auto& missing) { return missing.first == "*"; });
        if (all != toolchain.missing.end()) {
            out.push_back({"toolchain", Level::kProblem, toolchain.name, "can do nothing here: " + all->second, ""});
            continue;
        }
        std::vector<std::string> programs;
        for (const ProgramFact& program : toolchain.programs) {
            programs.push_back(program.path + (program.version.empty() ? "" : " (" + program.version + ")"));
        }
        out.push_back({"toolchain", Level::kOk, toolchain.name,
                       programs.empty() ? "its driver starts" : "its driver starts and found " + joined(programs), ""});
    }
    const std::vector<TargetFact> targets = targets_of(facts, wanted);
    for (const TargetFact& target : targets) {
        const bool asked = std::find(wanted.begin(), wanted.end(), target.target) != wanted.end();
        if (target.builders.empty()) {
            const std::string why = reason_of(facts, target.target);
            out.push_back({"target", asked ? Level::kProblem : Level::kNote, target.target,
                           "cannot be built here: " + (why.empty() ? "no toolchain here knows it" : why),
                           why.empty() ? "leave it out, or name its driver: --driver NAME=PROGRAM" : ""});
            continue;
        }
        const std::string built = "is built by " + joined(target.builders);
        if (target.measured) {
            out.push_back({"target", Level::kOk, target.target, built + " and measured here", ""});
        } else {
            out.push_back({"target", Level::kNote, target.target, built + "; no device that is measured here runs it",
                           "`run` ends its steps as built, which says nothing about speed"});
        }
    }
    if (!can_tune(facts, {})) {
        out.push_back({"target", Level::kProblem, "any", "nothing can be built here",
                       "install the package clang-22 (and lld-22), or name a driver"});
    }
}

void add_gpus(const HostFacts& facts, std::vector<Finding>& out) {
    for (const GpuFact& gpu : facts.gpus) {
        const std::string subject = gpu.vendor + " " + (gpu.target.empty() ? gpu.name : gpu.target + " " + gpu.name);
        const bool measured = std::any_of(facts.devices.begin(), facts.devices.end(), [&](const DeviceFact& d) {
            return !gpu.target.empty() && d.target == gpu.target;
        });
        if (!gpu.obstacle.empty()) {
            out.push_back({"gpu", Level::kProblem, subject, "this user cannot open it: " + gpu.obstacle, gpu.advice});
        } else if (measured) {
            out.push_back({"gpu", Level::kOk, subject, "is measured here", ""});
        } else {
            out.push_back({"gpu", Level::kNote, subject, "can be opened, but no toolchain here measures on it", ""});
        }
    }
    if (facts.gpus.empty()) {
        out.push_back({"gpu", Level::kNote, "none",
                       "the kernel shows no AMD (/sys/class/kfd) and no NVIDIA "
                       "(/proc/driver/nvidia) GPU",
                       "load amdgpu or the NVIDIA driver if this host has one"});
    }
}

void add_cpu(const CpuFact& cpu, std::vector<Finding>& out) {
    const auto add = [&](Level level, const char* subject, std::string meaning, std::string advice) {
        out.push_back({"cpu", level, subject, std::move(meaning), std::move(advice)});
    };
    const std::string model = cpu.model.empty() ? "an unknown CPU" : cpu.model;
    add(cpu.allowed < cpu.online ? Level::kNote : Level::kOk, "model",
        fmt::format("{}: {} of {} CPUs may be used{}", model, cpu.allowed, cpu.online,
                    cpu.max_khz > 0 ? fmt::format(", up to {:.2f} GHz", static_cast<double>(cpu.max_khz) / 1e6) : ""),
        cpu.allowed < cpu.online ? "the CPU set of this process is smaller than the host: widen it if that is not meant"
                                 : "");
    if (cpu.virtual_machine) {
        add(Level::kNote, "virtual machine", "times depend on the neighbours of this virtual machine",
            "compare only results of one run; use bare metal for times that are published");
    }
    if (!cpu.governor.empty() && cpu.governor != "performance") {
        add(Level::kNote, "governor", "'" + cpu.governor + "' changes the clock with the load: CPU times scatter",
            "cpupower frequency-set -g performance");
    } else if (cpu.governor == "performance") {
        add(Level::kOk, "governor", "performance", "");
    }
    if (cpu.turbo == "on") {
        add(Level::kNote, "turbo", "the clock depends on temperature and on how many cores are busy",
            "turn it off for CPU measurements: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > "
            "/sys/devices/system/cpu/cpufreq/boost");
    } else if (cpu.turbo == "off") {
        add(Level::kOk, "turbo", "off", "");
    }
    if (cpu.cores < cpu.allowed) {
        add(Level::kNote, "hardware threads",
            fmt::format("{} CPUs are {} cores: a busy sibling takes part of a core (a measurement keeps its core's "
                        "siblings idle)",
                        cpu.allowed, cpu.cores),
            "");
    }
    if (cpu.quota > 0 && cpu.quota < cpu.allowed) {
        add(Level::kProblem, "quota",
            fmt::format("the control group may use {:.1f} CPUs and is stopped in between: CPU times are wrong, and "
                        "more slots than that do not help",
                        cpu.quota),
            fmt::format("--jobs {}, or lift the quota (cpu.max)",
                        std::max(1, static_cast<int>(std::floor(cpu.quota)))));
    }
    const bool busy = cpu.load > kBusyShare * cpu.allowed;
    add(busy ? Level::kNote : Level::kOk, "load",
        fmt::format("{:.2f} in the last minute on {} CPUs{}", cpu.load, cpu.allowed,
                    busy ? ": other work disturbs measurements" : ""),
        busy ? "stop it, or wait, before CPU times matter" : "");
}

void add_memory(const MemoryFact& memory, std::vector<Finding>& out) {
    const bool grouped = memory.group_limit.count > 0 && memory.group_limit < memory.total;
    const Bytes usable = grouped ? std::min(memory.group_limit, memory.available) : memory.available;
    const bool little = usable.count < kLittleMemory;
    out.push_back(
        {"memory", little ? Level::kNote : Level::kOk, "size",
         fmt::format("{:.1f} of {:.1f} GiB are available{}", gib(memory.available), gib(memory.total),
                     grouped ? fmt::format("; the control group may use {:.1f} GiB", gib(memory.group_limit)) : ""),
         little ? "use fewer slots (--jobs): a compile takes up to some hundred MB" : ""});
    if (memory.swap_used.count > 0) {
        out.push_back(
            {"memory", Level::kNote, "swap",
             fmt::format("{:.1f} GiB are swapped out: what comes back disturbs measurements", gib(memory.swap_used)),
             "swapoff -a; swapon -a, when memory is free"});
    }
}

void add_disk(const DiskFact& disk, std::vector<Finding>& out) {
    const auto add = [&](Level level, std::string meaning, std::string advice) {
        out.push_back({"disk", level, disk.purpose + " " + disk.path, std::move(meaning), std::move(advice)});
    };
    const bool results = disk.purpose == "results";
    if (!disk.error.empty()) {
        add(Level::kProblem, "cannot be written: " + disk.error, results ? "choose another folder" : "set TMPDIR");
        return;
    }
    if (results && disk.network) {
        add(Level::kProblem, disk.type + " is a network file system: SQLite's WAL does not work there",
            "choose a local disk");
        return;
    }
    if (results && disk.in_memory) {
        add(Level::kNote, disk.type + " is gone after a restart", "choose a disk to keep results");
    }
    if (results && disk.fsync_ms < 0)
        add(Level::kProblem, "fsync fails: nothing can be kept safely", "choose another disk");
    if (results && disk.fsync_ms > kSlowSyncMs) {
        add(Level::kNote,
            fmt::format("a sync took {:.0f} ms: it bounds how many results per second are recorded", disk.fsync_ms),
            "a local SSD serves large farms");
    }
    if (!disk.unnamed_files) {
        add(Level::kNote, "has no unnamed files (O_TMPFILE); named ones serve instead", "");
    }
    const Level level = disk.free.count < kTooLittleDisk ? Level::kProblem
                        : disk.free.count < kLittleDisk  ? Level::kNote
                                                         : Level::kOk;
    add(level,
        fmt::format("{:.1f} GiB free on {}{}", gib(disk.free), disk.type,
                    disk.fsync_ms >= 0 ? fmt::format(", sync {:.1f} ms", disk.fsync_ms) : ""),
        level == Level::kOk ? ""
        : results           ? "free some, or `tunefarm gc`"
                            : "free some, or set TMPDIR");
}

void add_rest(const HostFacts& facts, std::vector<Finding>& out) {
    const auto limit = [&](std::int64_t value, std::int64_t few, const char* what, const char* advice) {
        const bool low = value >= 0 && value < few;
        out.push_back({"limits", low ? Level::kNote : Level::kOk, what,
                       value < 0 ? "no limit" : fmt::format("at most {}", value), low ? advice : ""});
    };
    limit(facts.limits.open_files, kFewFiles, "open files", "ulimit -n 65536, or LimitNOFILE= of the service");
    limit(facts.limits.processes, kFewProcesses, "processes", "ulimit -u 4096, or TasksMax= of the service");
    for (const LibraryFact& library : facts.libraries) {
        out.push_back({"library", Level::kOk, library.name, library.version, ""});
    }
    out.push_back({"library", facts.curve ? Level::kOk : Level::kProblem, "CURVE",
                   facts.curve ? "ZeroMQ encrypts" : "this ZeroMQ cannot encrypt: no TCP between hosts",
                   facts.curve ? "" : "install a libzmq that is built with libsodium (Debian's is)"});
    if (facts.clock_synchronised) {
        const bool good = *facts.clock_synchronised;
        out.push_back(
            {"clock", good ? Level::kOk : Level::kNote, "synchronised",
             good ? "the kernel says so"
                  : "the kernel says that nobody keeps this clock right: times of several hosts cannot be compared",
             good ? "" : "run chrony or systemd-timesyncd (in a container: on its host)"});
    }
}

}  // namespace

const char* to_string(Finding::Level level) {
    switch (level) {
        case Level::kOk: return "ok";
        case Level::kNote: return "note";
        case Level::kProblem: return "problem";
    }
    return "problem";
}

std::vector<TargetFact> targets_of(const HostFacts& facts, const std::vector<std::string>& wanted) {
    std::vector<std::string> names;
    for (const std::string& name : wanted) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    if (names.empty()) {
        std::set<std::string> known;
        for (const ToolchainFact& toolchain : facts.toolchains) {
            for (const auto& [verb, target] : toolchain.capabilities) {
                if (target != "*") known.insert(target);
            }
            for (const auto& [target, reason] : toolchain.missing) {
                if (target != "*") known.insert(target);
            }
        }
        names.assign(known.begin(), known.end());
    }
    std::vector<TargetFact> out;
    out.reserve(names.size());
    for (const std::string& name : names) out.push_back(target_fact(facts, name));
    return out;
}

bool can_tune(const HostFacts& facts, const std::vector<std::string>& wanted) {
    const auto builds = [&](TaskKind verb, const std::string& target) {
        return std::any_of(facts.toolchains.begin(), facts.toolchains.end(),
                           [&](const ToolchainFact& toolchain) { return has(toolchain, verb, target); });
    };
    if (!wanted.empty()) {
        return std::all_of(wanted.begin(), wanted.end(),
                           [&](const std::string& target) { return builds(TaskKind::kBuild, target); });
    }
    return std::any_of(facts.toolchains.begin(), facts.toolchains.end(), [](const ToolchainFact& toolchain) {
        return std::any_of(toolchain.capabilities.begin(), toolchain.capabilities.end(),
                           [](const auto& able) { return able.first == TaskKind::kBuild; });
    });
}

std::vector<Finding> findings_of(const HostFacts& facts, const std::vector<std::string>& wanted) {
    std::vector<Finding> out;
    add_targets(facts, wanted, out);
    add_gpus(facts, out);
    add_cpu(facts.cpu, out);
    add_memory(facts.memory, out);
    for (const DiskFact& disk : facts.disks) add_disk(disk, out);
    add_rest(facts, out);
    return out;
}

}  // namespace tunefarm::cli
