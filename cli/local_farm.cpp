// SPDX-License-Identifier: MIT
#include "cli/local_farm.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "cli/local_drivers.h"

extern char** environ;

namespace tunefarm::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kMaxRestarts = 3;
constexpr seconds kHelloLimit{120};  // the first hello hashes compilers, on a cold disk
constexpr seconds kStopLimit{2};

}  // namespace

Result<std::unique_ptr<LocalFarm>> LocalFarm::start(const std::string& directory, std::uint32_t slots,
                                                    const std::vector<std::string>& drivers,
                                                    const std::function<bool()>& interrupted) {
    std::unique_ptr<LocalFarm> farm(new LocalFarm());
    farm->directory_ = directory;
    farm->slots_ = slots;
    farm->drivers_ = drivers;
    const char* base = std::getenv("TMPDIR");
    // Socket paths end at 107 bytes: a long TMPDIR must not break the run.
    const std::string temporary = base != nullptr && std::string(base).size() < 60 ? base : "/tmp";
    TUNEFARM_ASSIGN(farm->sockets_, make_temporary_directory(temporary + "/tunefarm-"));
    server::ServerOptions options;
    options.directory = directory;
    options.control_endpoint = "ipc://" + farm->sockets_ + "/control";
    options.artifacts_endpoint = "ipc://" + farm->sockets_ + "/artifacts";
    TUNEFARM_ASSIGN(farm->server_, server::Server::start(options));
    TUNEFARM_TRY(farm->start_worker());
    const Clock::time_point limit = Clock::now() + kHelloLimit;
    while (farm->core().workers() == 0) {
        TUNEFARM_TRY(farm->turn(milliseconds(50)));
        if (interrupted && interrupted()) return Error{ErrorKind::kCancelled, "stopped before the worker was there"};
        if (Clock::now() > limit) {
            return Error{ErrorKind::kTimeout, "the worker did not say hello; its log:\n" + farm->worker_log_tail()};
        }
    }
    return farm;
}

LocalFarm::~LocalFarm() {
    if (worker_pid_ > 0) {
        ::kill(worker_pid_, SIGKILL);
        ::waitpid(worker_pid_, nullptr, 0);
    }
    server_.reset();
    static_cast<void>(remove_tree(sockets_));
}

Status LocalFarm::start_worker() {
    std::vector<std::string> arguments = {"/proc/self/exe",    "worker",
                                          "--connect",         server_->control_endpoint(),
                                          "--state",           directory_ + "/worker",
                                          "--slots",           std::to_string(slots_),
                                          "--exit-with-parent"};
    for (const std::string& driver : drivers_) arguments.insert(arguments.end(), {"--driver", driver});
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const std::string log = directory_ + "/worker.log";
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int code = ::posix_spawn(&worker_pid_, "/proc/self/exe", &files, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    if (code != 0) {
        worker_pid_ = -1;
        errno = code;
        return errno_error("start the worker");
    }
    return {};
}

bool LocalFarm::worker_ended() {
    if (worker_pid_ < 0) return true;
    int status = 0;
    if (::waitpid(worker_pid_, &status, WNOHANG) != worker_pid_) return false;
    worker_pid_ = -1;
    return true;
}

std::string LocalFarm::worker_log_tail() const {
    const auto log = read_file(directory_ + "/worker.log", std::int64_t{1} << 30);
    if (!log.ok()) return log.error().message;
    return log->size() > 2000 ? log->substr(log->size() - 2000) : *log;
}

Status LocalFarm::turn(milliseconds timeout) {
    TUNEFARM_TRY(server_->turn(timeout));
    // The server may notice the end of a worker before waitpid does: what counts is that one has joined.
    joined_ = joined_ || core().workers() > 0;
    if (!worker_ended()) return {};
    if (!joined_) {
        return Error{ErrorKind::kUnavailable, "the worker could not start; its log:\n" + worker_log_tail()};
    }
    if (++restarts_ > kMaxRestarts) {
        return Error{ErrorKind::kUnavailable, "the worker died " + std::to_string(restarts_) +
                                                  " times; the end of its log:\n" + worker_log_tail()};
    }
    log::warning("the worker died; starting it again");
    return start_worker();
}

Status LocalFarm::stop(bool drain, const std::string& reason) {
    core().shut_down(drain, reason);
    const Clock::time_point limit = Clock::now() + kStopLimit;
    while (!worker_ended() && Clock::now() < limit) TUNEFARM_TRY(server_->turn(milliseconds(20)));
    if (worker_pid_ > 0) {
        ::kill(worker_pid_, SIGKILL);
        ::waitpid(worker_pid_, nullptr, 0);
        worker_pid_ = -1;
    }
    TUNEFARM_TRY(server_->turn(milliseconds(0)));
    while (server_->storage_stats().queued_records > 0) {
        // A disk that is full now may stay so: what was acknowledged is safe, and waiting would keep the user here.
        if (const std::string trouble = server_->storage_trouble(); !trouble.empty()) {
            return Error{ErrorKind::kNoSpace, trouble + "; the last results are not stored: make room in " +
                                                  directory_ + " and give the same command again"};
        }
        TUNEFARM_TRY(server_->turn(milliseconds(20)));
    }
    return {};
}

}  // namespace tunefarm::cli
