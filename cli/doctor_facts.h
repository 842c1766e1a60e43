// SPDX-License-Identifier: MIT
// What `doctor` looks at, as plain values. Nothing here needs root, and nothing waits longer than its limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "cli/commands.h"

namespace tunefarm::cli {

struct ProgramFact {
    std::string path;
    std::string version;  ///< first line of `--version`; empty: it did not say
};

/// A driver's own report: it has compiled a probe for each target that it lists.
struct ToolchainFact {
    std::string name;
    std::string error;  ///< why the driver did not start; empty: it did
    std::vector<ProgramFact> programs;
    std::vector<std::pair<TaskKind, std::string>> capabilities;  ///< (verb, target or "*")
    std::vector<std::pair<std::string, std::string>> missing;    ///< (target, reason)
};

struct DeviceFact {
    std::string id;
    std::string target;
    std::string description;
};

struct GpuFact {
    std::string vendor;  ///< "AMD", "NVIDIA"
    std::string target;  ///< "gfx942"; empty: unknown
    std::string name;
    std::string obstacle;  ///< why this user cannot open it; empty: it can
    std::string advice;
};

struct CpuFact {
    int online = 0;
    int allowed = 0;  ///< by the CPU set of this process
    int cores = 0;    ///< that the allowed CPUs belong to
    std::string model;
    std::string governor;  ///< empty: the kernel shows none, as on virtual machines
    std::string turbo;     ///< "on", "off", empty: unknown
    std::int64_t max_khz = 0;
    bool virtual_machine = false;
    double load = 0;   ///< of one minute
    double quota = 0;  ///< CPUs that the control group may use; 0: no limit
};

struct MemoryFact {
    Bytes total;
    Bytes available;
    Bytes group_limit;  ///< of the control group; 0: none
    Bytes swap_total;
    Bytes swap_used;
};

struct DiskFact {
    std::string purpose;  ///< "results", "temporary files"
    std::string path;     ///< what was asked for
    std::string probed;   ///< it, or the nearest folder above that exists
    std::string type;     ///< "ext4"; or the kernel's number
    bool network = false;
    bool in_memory = false;
    Bytes free;
    std::string error;           ///< why nothing can be written there; empty: it can
    double fsync_ms = -1;        ///< of 4 KiB; negative: it failed
    bool unnamed_files = false;  ///< O_TMPFILE
};

struct LimitFact {
    std::int64_t open_files = 0;  ///< soft limits; -1: none
    std::int64_t processes = 0;
};

struct LibraryFact {
    std::string name;
    std::string version;
};

struct HostFacts {
    std::vector<ToolchainFact> toolchains;
    std::vector<DeviceFact> devices;
    std::vector<GpuFact> gpus;
    CpuFact cpu;
    MemoryFact memory;
    std::vector<DiskFact> disks;
    LimitFact limits;
    std::vector<LibraryFact> libraries;
    bool curve = false;                      ///< libzmq can encrypt
    std::optional<bool> clock_synchronised;  ///< nullopt: the kernel does not say
};

/// Starts each driver and ends it again; a driver has 30 s to say hello, a program 5 s to name its version.
std::vector<ToolchainFact> look_at_toolchains(const std::vector<DriverArgument>& drivers);
/// `root` is prefixed to /proc, /sys and /dev, so that tests can describe another machine.
std::vector<GpuFact> look_at_gpus(const std::string& root = "");
CpuFact look_at_cpu(const std::string& root = "");
MemoryFact look_at_memory(const std::string& root = "");
DiskFact look_at_disk(const std::string& purpose, const std::string& path);
/// All of the above and the rest.
HostFacts look_at_host(const std::vector<DriverArgument>& drivers, const std::string& directory);

}  // namespace tunefarm::cli
