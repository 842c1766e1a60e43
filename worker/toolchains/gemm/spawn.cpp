// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/spawn.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "base/files.h"

namespace tunefarm::gemm {
namespace {

constexpr std::size_t kMaxLog = 16 << 10;

std::int64_t micros(const timeval& time) {
    return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

/// Reads to the end of the pipe, so that the child never blocks on a full one; keeps the end.
std::string drain(int fd) {
    std::string log;
    char buffer[4096];
    while (true) {
        const ssize_t n = ::read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return log.size() > kMaxLog ? log.substr(log.size() - kMaxLog) : log;
        log.append(buffer, static_cast<std::size_t>(n));
        if (log.size() > 8 * kMaxLog) log.erase(0, log.size() - kMaxLog);
    }
}

struct Actions {
    Actions() { posix_spawn_file_actions_init(&value); }
    ~Actions() { posix_spawn_file_actions_destroy(&value); }
    Actions(const Actions&) = delete;
    Actions& operator=(const Actions&) = delete;
    posix_spawn_file_actions_t value;
};

}  // namespace

Result<Finished> run_program(const std::vector<std::string>& arguments, const std::string& directory) {
    const auto start = std::chrono::steady_clock::now();
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error("pipe");
    UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    Actions actions;
    posix_spawn_file_actions_addopen(&actions.value, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions.value, writer.get(), 1);
    posix_spawn_file_actions_adddup2(&actions.value, writer.get(), 2);
    // The worker's ends of the protocol are not marked close-on-exec: a compiler that held one open would hide our end.
    posix_spawn_file_actions_addclosefrom_np(&actions.value, 3);
    posix_spawn_file_actions_addchdir_np(&actions.value, directory.c_str());
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, argv[0], &actions.value, nullptr, argv.data(), environ);
    if (error != 0) {
        errno = error;
        return errno_error("cannot start " + arguments[0]);
    }
    writer.reset();
    Finished finished;
    finished.log = drain(reader.get());
    int status = 0;
    rusage usage{};
    while (::wait4(pid, &status, 0, &usage) < 0) {
        if (errno != EINTR) return errno_error("wait for " + arguments[0]);
    }
    finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    finished.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    finished.cpu_us = micros(usage.ru_utime) + micros(usage.ru_stime);
    finished.wall_us =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
    return finished;
}

std::string find_program(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> folders;
    const char* const path = std::getenv("PATH");
    std::istringstream text(path != nullptr ? path : "");
    for (std::string folder; std::getline(text, folder, ':');) {
        if (!folder.empty() && folder[0] == '/') folders.push_back(folder);
    }
    folders.insert(folders.end(), more.begin(), more.end());
    for (const std::string& folder : folders) {
        const std::string candidate = folder + "/" + name;
        struct stat info{};
        if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
    }
    return {};
}

}  // namespace tunefarm::gemm
