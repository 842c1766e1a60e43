// SPDX-License-Identifier: MIT
#include "worker/runner/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <random>
#include <set>

#include "worker/runner/process_table.h"

namespace tunefarm::worker {

namespace {

constexpr int kOpenFiles = 1024;
constexpr char kCookieName[] = "TUNEFARM_PROCESS";

/// The children of this process are a property of the process: one register for all threads. Held across fork() and
/// registration, and across the search for orphans, so that a child that is just being started is never taken for one.
struct Register {
    std::mutex mutex;
    std::set<pid_t> live;
    bool subreaper = false;
};
Register& children() {
    static Register instance;
    return instance;
}

Micros usage_time(const struct rusage& usage) {
    return Micros{(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
                  usage.ru_stime.tv_usec};
}

/// Number after `key` and a blank in a small file, -1 when there is none.
long read_counter(const std::string& path, const std::string& key) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return -1;
    std::string text(16384, '\0');
    const ssize_t n = ::read(fd.get(), text.data(), text.size() - 1);
    if (n <= 0) return -1;
    text.resize(static_cast<std::size_t>(n));
    const auto at = ("\n" + text).find("\n" + key + " ");
    return at == std::string::npos ? -1 : std::strtol(text.c_str() + at + key.size(), nullptr, 10);
}

/// Out-of-memory kills that concern us: of our control group (v2, then v1), else of the host (/proc/vmstat).
long oom_kills() {
    static const std::vector<std::pair<std::string, std::string>> sources = [] {
        std::vector<std::pair<std::string, std::string>> found;
        if (FILE* file = std::fopen("/proc/self/cgroup", "re")) {
            char line[4096];
            while (std::fgets(line, sizeof line, file) != nullptr) {
                std::string text(line);
                if (!text.empty() && text.back() == '\n') text.pop_back();
                const auto path_at = text.find(':', text.find(':') + 1);
                if (path_at == std::string::npos) continue;
                const std::string path = text.substr(path_at + 1);
                if (text.rfind("0::", 0) == 0) {
                    found.emplace_back("/sys/fs/cgroup" + path + "/memory.events", "oom_kill");
                } else if (text.find(":memory:") != std::string::npos) {
                    found.emplace_back("/sys/fs/cgroup/memory" + path + "/memory.oom_control", "oom_kill");
                }
            }
            std::fclose(file);
        }
        found.emplace_back("/proc/vmstat", "oom_kill");
        return found;
    }();
    for (const auto& [path, key] : sources) {
        const long count = read_counter(path, key);
        if (count >= 0) return count;
    }
    return -1;
}

std::string find_program(const std::string& name, const Environment& environment) {
    if (name.find('/') != std::string::npos) return name;
    std::string path = "/usr/local/bin:/usr/bin:/bin";
    for (const auto& [key, value] : environment) {
        if (key == "PATH") path = value;
    }
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        const std::string candidate = path.substr(start, end - start) + "/" + name;
        if (::access(candidate.c_str(), X_OK) == 0) return candidate;
        start = end + 1;
    }
    return "";
}

bool has_cookie(pid_t pid, const std::string& cookie) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/environ", pid);
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return false;
    std::string text;
    char buffer[8192];
    while (text.size() < (256U << 10)) {
        const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
        if (n <= 0) break;
        text.append(buffer, static_cast<std::size_t>(n));
    }
    return text.find(cookie) != std::string::npos;
}

/// Everything the child needs between fork and exec, prepared before, since only async-signal-safe calls are allowed.
struct ChildPlan {
    const char* program = nullptr;
    char* const* argv = nullptr;
    char* const* envp = nullptr;
    const char* directory = nullptr;
    int fds[5] = {-1, -1, -1, -1, -1};
    int report = -1;
    pid_t parent = 0;
    int nice = 0;
    bool pin = false;
    cpu_set_t cpus{};
    rlim_t file_size = RLIM_INFINITY;
    rlim_t address_space = RLIM_INFINITY;
};

[[noreturn]] void child_fail(int report) {
    const int error = errno;
    [[maybe_unused]] const ssize_t n = ::write(report, &error, sizeof error);
    ::_exit(127);
}

[[noreturn]] void become_child(ChildPlan& plan) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != plan.parent) ::_exit(127);  // the worker died before the line above
    // Above the targets first, so that no dup2 below overwrites a source.
    for (int& fd : plan.fds) fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 16);
    const int report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, 16);
    for (int target = 0; target < 5; ++target) {
        if (::dup2(plan.fds[target], target) < 0) child_fail(report);
    }
    // Everything above 4 closes at exec, whatever library opened it.
    if (::syscall(SYS_close_range, 5U, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */) != 0) {
        for (int fd = 5; fd < 4096; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, SIGQUIT, SIGXFSZ}) {
        ::signal(number, SIG_DFL);
    }
    const auto limit = [](decltype(RLIMIT_CORE) what, rlim_t value) {
        struct rlimit now{};
        ::getrlimit(what, &now);
        now.rlim_cur = std::min(now.rlim_max, value);
        now.rlim_max = now.rlim_cur;
        ::setrlimit(what, &now);
    };
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, kOpenFiles);
    if (plan.file_size != RLIM_INFINITY) limit(RLIMIT_FSIZE, plan.file_size);
    if (plan.address_space != RLIM_INFINITY) limit(RLIMIT_AS, plan.address_space);
    if (plan.nice != 0) ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + plan.nice);
    if (plan.pin) ::sched_setaffinity(0, sizeof plan.cpus, &plan.cpus);
    ::umask(022);
    if (plan.directory != nullptr && ::chdir(plan.directory) != 0) child_fail(report);
    ::execve(plan.program, plan.argv, plan.envp);
    child_fail(report);
}

std::string random_cookie() {
    static std::atomic<unsigned> counter{0};
    std::random_device random;
    char text[64];
    std::snprintf(text, sizeof text, "%08x%08x.%u", random(), random(), ++counter);
    return text;
}

Status make_pipe(UniqueFd& read_end, UniqueFd& write_end) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) return errno_error("pipe");
    read_end = UniqueFd(fds[0]);
    write_end = UniqueFd(fds[1]);
    return {};
}

void set_nonblocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Environment clean_environment(const std::string& temporary, const Environment& extra) {
    const auto inherited = [](const char* name, const char* otherwise) {
        const char* value = std::getenv(name);
        return std::string(value != nullptr ? value : otherwise);
    };
    Environment result{{"PATH", inherited("PATH", "/usr/local/bin:/usr/bin:/bin")},
                       {"HOME", inherited("HOME", "/")},
                       {"LANG", "C.UTF-8"},
                       {"TMPDIR", temporary}};
    for (const auto& [key, value] : extra) {
        const auto old = std::find_if(result.begin(), result.end(), [&](const auto& e) { return e.first == key; });
        if (old != result.end()) {
            old->second = value;
        } else {
            result.emplace_back(key, value);
        }
    }
    return result;
}

std::string ExitStatus::describe() const {
    if (!signalled) return "exited with " + std::to_string(code);
    const char* name = ::sigabbrev_np(code);
    const std::string text = name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(code);
    return "killed by " + text + (out_of_memory ? " (the kernel ran out of memory)" : "");
}

Result<std::unique_ptr<Process>> Process::start(const ProcessOptions& options) {
    if (options.command.empty()) return Error{ErrorKind::kInternal, "empty command"};
    const std::string program = find_program(options.command[0], options.environment);
    if (program.empty()) return Error{ErrorKind::kNotFound, options.command[0] + ": not found in PATH"};

    std::unique_ptr<Process> process(new Process);
    process->output_limit_ = options.output_limit;
    process->cookie_ = std::string(kCookieName) + "=" + random_cookie();
    std::vector<std::string> variables;
    for (const auto& [key, value] : options.environment) variables.push_back(key + "=" + value);
    variables.push_back(process->cookie_);
    std::vector<std::string> arguments = options.command;
    std::vector<char*> argv;
    std::vector<char*> envp;
    for (std::string& text : arguments) argv.push_back(text.data());
    for (std::string& text : variables) envp.push_back(text.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);

    UniqueFd child_requests, child_events, child_output, report_read, report_write;
    TUNEFARM_TRY(make_pipe(child_requests, process->request_));
    TUNEFARM_TRY(make_pipe(process->event_, child_events));
    TUNEFARM_TRY(make_pipe(process->output_, child_output));
    TUNEFARM_TRY(make_pipe(report_read, report_write));
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null.valid()) return errno_error("/dev/null");

    ChildPlan plan;
    plan.program = program.c_str();
    plan.argv = argv.data();
    plan.envp = envp.data();
    plan.directory = options.directory.empty() ? nullptr : options.directory.c_str();
    plan.fds[0] = null.get();
    plan.fds[1] = plan.fds[2] = child_output.get();
    plan.fds[3] = child_requests.get();
    plan.fds[4] = child_events.get();
    plan.report = report_write.get();
    plan.parent = ::getpid();
    plan.nice = options.nice;
    CPU_ZERO(&plan.cpus);
    for (const int cpu : options.cpus) {
        if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(cpu), &plan.cpus);
    }
    plan.pin = !options.cpus.empty();
    if (options.file_size_limit.count > 0) plan.file_size = static_cast<rlim_t>(options.file_size_limit.count);
    if (options.address_space_limit.count > 0) {
        plan.address_space = static_cast<rlim_t>(options.address_space_limit.count);
    }
    process->oom_kills_before_ = oom_kills();
    {
        const std::lock_guard lock(children().mutex);
        const pid_t pid = ::fork();
        if (pid < 0) return errno_error("fork");
        if (pid == 0) become_child(plan);
        process->pid_ = pid;
        children().live.insert(pid);
    }
    process->exit_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process->pid_, 0)));
    if (!process->exit_.valid()) return errno_error("pidfd_open (Linux 5.3 or later is needed)");
    set_nonblocking(process->request_.get());
    set_nonblocking(process->event_.get());
    set_nonblocking(process->output_.get());

    report_write.reset();
    int error = 0;
    ssize_t n = 0;
    do {
        n = ::read(report_read.get(), &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        errno = error;
        return errno_error(program);
    }
    return process;
}

Process::~Process() {
    if (pid_ > 0) kill_tree();
}

void Process::drain_output() {
    char buffer[65536];
    for (int round = 0; round < 16 && output_.valid(); ++round) {
        const ssize_t n = ::read(output_.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return;
        if (n == 0) {
            output_.reset();
            return;
        }
        const std::size_t length = static_cast<std::size_t>(n);
        if (length >= output_limit_) {
            log_.assign(buffer + length - output_limit_, output_limit_);
        } else {
            if (log_.size() + length > output_limit_) log_.erase(0, log_.size() + length - output_limit_);
            log_.append(buffer, length);
        }
    }
}

std::string Process::log_tail() const {
    // Bytes that are not UTF-8 would make the JSON and the database that it ends up in invalid.
    std::string clean;
    clean.reserve(log_.size());
    for (std::size_t i = 0; i < log_.size();) {
        const auto byte = static_cast<unsigned char>(log_[i]);
        const std::size_t length = byte < 0x80 ? 1 : byte >= 0xC2 && byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
        bool valid = byte < 0x80 || (byte >= 0xC2 && byte < 0xF5);
        for (std::size_t k = 1; valid && k < length; ++k) {
            valid = i + k < log_.size() && (static_cast<unsigned char>(log_[i + k]) & 0xC0) == 0x80;
        }
        if (valid && byte != 0) {
            clean.append(log_, i, length);
            i += length;
        } else {
            clean += '?';
            ++i;
        }
    }
    return clean;
}

void Process::reap(bool killed_by_us, const struct rusage& usage, int wait_status) {
    ended_ = true;
    final_cpu_ = usage_time(usage);
    status_.signalled = WIFSIGNALED(wait_status);
    status_.code = status_.signalled ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
    if (status_.signalled && status_.code == SIGKILL && !killed_by_us) {
        const long now = oom_kills();
        status_.out_of_memory = oom_kills_before_ >= 0 && now > oom_kills_before_;
    }
    const std::lock_guard lock(children().mutex);
    children().live.erase(pid_);
}

bool Process::ended() {
    if (ended_) return true;
    int wait_status = 0;
    struct rusage usage{};
    const pid_t pid = ::wait4(pid_, &wait_status, WNOHANG, &usage);
    if (pid == pid_) reap(killed_, usage, wait_status);
    return ended_;
}

bool Process::wait(Micros limit) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + limit;
    while (!ended()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left < 0) return false;
        struct pollfd fds[2] = {{exit_.get(), POLLIN, 0}, {output_.get(), POLLIN, 0}};
        ::poll(fds, output_.valid() ? 2 : 1, static_cast<int>(left) + 1);
        drain_output();
    }
    drain_output();
    return true;
}

void Process::kill_tree() {
    if (pid_ <= 0) return;
    killed_ = true;
    // Descendants first, while their parent's id still ties them to us: then whatever lost its parent and came to us.
    if (!ended_) {
        for (const ProcessInfo& info : tree_of(pid_, list_processes())) {
            if (info.pid != pid_) ::kill(info.pid, SIGKILL);
        }
        ::kill(-pid_, SIGKILL);
        ::kill(pid_, SIGKILL);
        int wait_status = 0;
        struct rusage usage{};
        while (::wait4(pid_, &wait_status, 0, &usage) < 0 && errno == EINTR) {
        }
        reap(true, usage, wait_status);
    }
    const pid_t self = ::getpid();
    const pid_t own_group = ::getpgrp();
    // A dying process can leave a child behind until all are gone: repeat until a scan finds none.
    for (int round = 0; round < 200; ++round) {
        int found = 0;
        {
            const std::lock_guard lock(children().mutex);
            const std::vector<ProcessInfo> all = list_processes();
            // The kernel keeps the number of a session while it has members; a process of that number is a new one.
            const bool recycled =
                std::any_of(all.begin(), all.end(), [this](const ProcessInfo& info) { return info.pid == pid_; });
            for (const ProcessInfo& info : all) {
                if (info.pid == self || children().live.count(info.pid) != 0) continue;
                if (info.state == 'Z' && info.parent != self) continue;  // its parent's to reap
                const bool ours =
                    (info.session == pid_ && !recycled) || (info.state != 'Z' && has_cookie(info.pid, cookie_));
                const bool stray = children().subreaper && info.parent == self && info.group != own_group &&
                                   children().live.count(info.session) == 0;
                if (!ours && !stray) continue;
                ++found;
                ::kill(info.pid, SIGKILL);
                struct rusage usage{};
                if (info.parent == self && ::wait4(info.pid, nullptr, WNOHANG, &usage) == info.pid) {
                    orphan_cpu_ += usage_time(usage);
                }
            }
        }
        if (found == 0) break;
        const struct timespec pause{0, round < 20 ? 1'000'000 : 20'000'000};
        ::nanosleep(&pause, nullptr);
    }
    drain_output();
    pid_ = -pid_;  // nothing left to kill
}

Micros Process::cpu() const {
    if (ended_) return final_cpu_ + orphan_cpu_;
    Micros total{0};
    clockid_t clock{};
    struct timespec time{};
    // The process's own clock counts nanoseconds; the sums of its waited children are only told in clock ticks.
    const bool exact = ::clock_getcpuclockid(pid_, &clock) == 0 && ::clock_gettime(clock, &time) == 0;
    if (exact) total = Micros{time.tv_sec * 1'000'000 + time.tv_nsec / 1000};
    if (const auto info = read_process(pid_)) total += info->waited_cpu + (exact ? Micros{0} : info->own_cpu);
    return total;
}

Status become_subreaper() {
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno_error("PR_SET_CHILD_SUBREAPER");
    const std::lock_guard lock(children().mutex);
    children().subreaper = true;
    return {};
}

Result<std::string> run_and_capture(const ProcessOptions& options, Micros limit) {
    TUNEFARM_ASSIGN(const std::unique_ptr<Process> process, Process::start(options));
    process->close_requests();
    if (!process->wait(limit)) return Error{ErrorKind::kTimeout, options.command[0] + ": passed its time limit"};
    if (!process->status().success()) {
        return Error{ErrorKind::kUnavailable,
                     options.command[0] + ": " + process->status().describe() + ": " + process->log_tail()};
    }
    return process->log_tail();
}

}  // namespace tunefarm::worker
