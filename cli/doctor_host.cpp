// SPDX-License-Identifier: MIT
// CPU, memory and disks, from /proc, /sys and the file system itself.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "cli/doctor_facts.h"
#include "worker/devices/cpu_device.h"

namespace tunefarm::cli {
namespace {

/// /proc and /sys files do not say their size. Missing: empty.
std::string slurp(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
}

std::int64_t integer_or(std::string_view text, std::int64_t otherwise) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size() ? value : otherwise;
}

/// The folder of this process's control group for a controller: version 2 (controller ""), or version 1.
std::string group_of(const std::string& root, const std::string& controller) {
    std::istringstream lines(slurp(root + "/proc/self/cgroup"));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
        if (controllers == ",,") {
            if (controller.empty()) return line.substr(second + 1);
        } else if (!controller.empty() && controllers.find("," + controller + ",") != std::string::npos) {
            return line.substr(second + 1);
        }
    }
    return "";
}

/// The first of these files that is there, in the process's group or, in a container that hides it, at the mount.
std::string group_file(const std::string& root, const std::string& mount, const std::string& group,
                       const std::string& name) {
    for (const std::string& folder : {group, std::string()}) {
        std::string text = slurp(root + mount + folder + "/" + name);
        if (!text.empty()) return text;
    }
    return "";
}

double cpu_quota(const std::string& root) {
    std::istringstream now(group_file(root, "/sys/fs/cgroup", group_of(root, ""), "cpu.max"));
    std::string quota;
    std::int64_t period = 0;
    if (now >> quota >> period) {
        const std::int64_t us = integer_or(quota, 0);
        return us > 0 && period > 0 ? static_cast<double>(us) / static_cast<double>(period) : 0;
    }
    const std::string group = group_of(root, "cpu");
    const std::int64_t us = integer_or(group_file(root, "/sys/fs/cgroup/cpu", group, "cpu.cfs_quota_us"), -1);
    const std::int64_t per = integer_or(group_file(root, "/sys/fs/cgroup/cpu", group, "cpu.cfs_period_us"), 0);
    return us > 0 && per > 0 ? static_cast<double>(us) / static_cast<double>(per) : 0;
}

/// Version 1 writes "no limit" as a number near 2^63.
constexpr std::int64_t kNoMemoryLimit = 1LL << 60;

Bytes memory_limit(const std::string& root) {
    std::string text = group_file(root, "/sys/fs/cgroup", group_of(root, ""), "memory.max");
    if (text.empty()) {
        text = group_file(root, "/sys/fs/cgroup/memory", group_of(root, "memory"), "memory.limit_in_bytes");
    }
    const std::int64_t bytes = integer_or(text, 0);
    return Bytes{bytes < kNoMemoryLimit ? bytes : 0};
}

struct KnownType {
    long magic;
    const char* name;
    bool network;
    bool in_memory;
};
/// statfs(2), "Filesystem types".
constexpr std::array<KnownType, 14> kTypes = {{{0xef53, "ext4", false, false},
                                               {0x58465342, "xfs", false, false},
                                               {0x9123683e, "btrfs", false, false},
                                               {0x2fc12fc1, "zfs", false, false},
                                               {0x794c7630, "overlay", false, false},
                                               {0x01021994, "tmpfs", false, true},
                                               {0x858458f6, "ramfs", false, true},
                                               {0x6969, "nfs", true, false},
                                               {0xff534d42, "cifs", true, false},
                                               {0xfe534d42, "smb2", true, false},
                                               {0x00c36400, "ceph", true, false},
                                               {0x0bd00bd0, "lustre", true, false},
                                               {0x01021997, "9p", true, false},
                                               {0x65735546, "fuse", false, false}}};

/// Writes 4 KiB, syncs them, and leaves nothing.
void probe_writes(DiskFact& disk) {
    UniqueFd fd(::open(disk.probed.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    disk.unnamed_files = fd.valid();
    if (!fd.valid()) {
        std::string name = disk.probed + "/.tunefarm-doctor-XXXXXX";
        fd = UniqueFd(::mkstemp(name.data()));
        if (!fd.valid()) {
            disk.error = errno_error(disk.probed).message;
            return;
        }
        ::unlink(name.c_str());
    }
    const Status written = write_all(fd.get(), std::string(4096, 't'));
    if (!written.ok()) {
        disk.error = written.error().message;
        return;
    }
    const auto begin = std::chrono::steady_clock::now();
    if (::fsync(fd.get()) == 0) {
        disk.fsync_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    }
}

}  // namespace

CpuFact look_at_cpu(const std::string& root) {
    CpuFact cpu;
    const std::vector<int> online = worker::parse_cpu_list(slurp(root + "/sys/devices/system/cpu/online"));
    const std::vector<int> allowed = root.empty() ? worker::allowed_cpus() : online;
    cpu.online = static_cast<int>(online.empty() ? allowed.size() : online.size());
    cpu.allowed = static_cast<int>(allowed.size());
    cpu.cores = cpu.allowed;
    std::istringstream(slurp(root + "/proc/loadavg")) >> cpu.load;
    cpu.quota = cpu_quota(root);
    for (const protocol::Device& device : worker::CpuDevice(root, allowed).enumerate(1)) {
        const auto facts = nlohmann::json::parse(device.facts);
        cpu.model = device.description;
        cpu.cores = facts.value("cores", cpu.allowed);
        cpu.governor = facts.value("governor", "");
        cpu.max_khz = integer_or(facts.value("max_khz", ""), 0);
        cpu.virtual_machine = facts.value("hypervisor", false);
        const std::string no_turbo = facts.value("no_turbo", "");
        const std::string boost = facts.value("boost", "");
        if (!no_turbo.empty()) cpu.turbo = no_turbo == "0" ? "on" : "off";
        if (no_turbo.empty() && !boost.empty()) cpu.turbo = boost == "0" ? "off" : "on";
    }
    return cpu;
}

MemoryFact look_at_memory(const std::string& root) {
    MemoryFact memory;
    std::istringstream lines(slurp(root + "/proc/meminfo"));
    std::string name;
    std::int64_t kib = 0;
    std::int64_t swap_free = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!(std::istringstream(line) >> name >> kib)) continue;
        const Bytes bytes{kib << 10};
        if (name == "MemTotal:") memory.total = bytes;
        if (name == "MemAvailable:") memory.available = bytes;
        if (name == "SwapTotal:") memory.swap_total = bytes;
        if (name == "SwapFree:") swap_free = bytes.count;
    }
    memory.swap_used = Bytes{memory.swap_total.count - swap_free};
    memory.group_limit = memory_limit(root);
    return memory;
}

DiskFact look_at_disk(const std::string& purpose, const std::string& path) {
    DiskFact disk;
    disk.purpose = purpose;
    disk.path = path;
    std::error_code code;
    std::filesystem::path probed = std::filesystem::absolute(path, code).lexically_normal();
    while (!std::filesystem::exists(probed, code) && probed.has_relative_path()) probed = probed.parent_path();
    disk.probed = probed.string();
    if (!std::filesystem::is_directory(probed, code)) {
        disk.error = disk.probed + ": is not a directory";
        return disk;
    }
    struct statfs info{};
    if (::statfs(disk.probed.c_str(), &info) != 0) {
        disk.error = errno_error(disk.probed).message;
        return disk;
    }
    disk.free = Bytes{static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_bsize)};
    std::ostringstream number;
    number << "type 0x" << std::hex << info.f_type;
    disk.type = number.str();
    for (const KnownType& known : kTypes) {
        if (known.magic != static_cast<long>(info.f_type)) continue;
        disk.type = known.name;
        disk.network = known.network;
        disk.in_memory = known.in_memory;
    }
    probe_writes(disk);
    return disk;
}

}  // namespace tunefarm::cli
