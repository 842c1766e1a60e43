// SPDX-License-Identifier: MIT
#include "worker/runner/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_set>

#include "base/files.h"

namespace tunefarm::worker {

namespace {

/// Reading /proc costs at most 1/50 of the time between two snapshots.
constexpr int kCostShare = 50;

Micros ticks_to_micros(std::uint64_t ticks) {
    static const long per_second = ::sysconf(_SC_CLK_TCK);
    return Micros{static_cast<std::int64_t>(ticks) * 1'000'000 / per_second};
}

/// The whole of a small /proc file, or empty.
std::size_t read_small(const char* path, char* buffer, std::size_t size) {
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return 0;
    const ssize_t n = ::read(fd.get(), buffer, size - 1);
    const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
    buffer[length] = '\0';
    return length;
}

}  // namespace

std::optional<ProcessInfo> read_process(pid_t pid) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
    char text[1024];
    if (read_small(path, text, sizeof text) == 0) return std::nullopt;
    // The name in parentheses may itself contain parentheses and spaces: fields start after the last one.
    const char* rest = std::strrchr(text, ')');
    if (rest == nullptr) return std::nullopt;
    ProcessInfo info;
    info.pid = pid;
    unsigned long long user = 0;
    unsigned long long system = 0;
    long long children_user = 0;
    long long children_system = 0;
    unsigned long long start = 0;
    long long resident_pages = 0;
    const int fields = std::sscanf(rest + 1,
                                   " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d %*d %*d %llu"
                                   " %*u %lld",
                                   &info.state, &info.parent, &info.group, &info.session, &user, &system,
                                   &children_user, &children_system, &start, &resident_pages);
    if (fields != 10) return std::nullopt;
    static const long page = ::sysconf(_SC_PAGESIZE);
    info.own_cpu = ticks_to_micros(user + system);
    info.waited_cpu = ticks_to_micros(static_cast<std::uint64_t>(children_user + children_system));
    info.start_ticks = start;
    info.resident = Bytes{resident_pages * page};
    return info;
}

std::vector<ProcessInfo> list_processes() {
    std::vector<ProcessInfo> all;
    DIR* directory = ::opendir("/proc");
    if (directory == nullptr) return all;
    while (const dirent* entry = ::readdir(directory)) {
        if (std::isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
        if (auto info = read_process(static_cast<pid_t>(std::atoi(entry->d_name)))) all.push_back(*info);
    }
    ::closedir(directory);
    return all;
}

std::vector<ProcessInfo> tree_of(pid_t root, const std::vector<ProcessInfo>& all) {
    std::vector<ProcessInfo> tree;
    std::unordered_set<pid_t> members;
    // Parents may be listed after their children, hence the passes; trees are shallow.
    for (bool grew = true; grew;) {
        grew = false;
        for (const ProcessInfo& info : all) {
            if (members.count(info.pid) != 0) continue;
            if (info.pid == root || info.session == root || members.count(info.parent) != 0) {
                members.insert(info.pid);
                tree.push_back(info);
                grew = true;
            }
        }
    }
    return tree;
}

std::optional<Bytes> proportional_set_size(pid_t pid) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    char text[2048];
    if (read_small(path, text, sizeof text) == 0) return std::nullopt;
    const char* line = std::strstr(text, "\nPss:");
    if (line == nullptr) return std::nullopt;
    return Bytes{std::atoll(line + 5) * 1024};
}

ProcessTable::Snapshot ProcessTable::snapshot(std::chrono::milliseconds max_age) {
    using Clock = std::chrono::steady_clock;
    const std::lock_guard lock(mutex_);
    const auto now = Clock::now();
    const auto allowed = std::max<Clock::duration>(max_age, cost_ * kCostShare);
    if (last_ == nullptr || now - taken_ > allowed) {
        last_ = std::make_shared<const std::vector<ProcessInfo>>(list_processes());
        taken_ = Clock::now();
        cost_ = taken_ - now;
    }
    return last_;
}

ProcessTable& process_table() {
    static ProcessTable table;
    return table;
}

}  // namespace tunefarm::worker
