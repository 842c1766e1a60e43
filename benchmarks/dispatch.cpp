// SPDX-License-Identifier: MIT
// No-op tasks per second through the real parts, every record durable: coordinator (Server) in this process, a worker
// process (Agent) with a driver whose builds do nothing, TCP loopback, with and without CURVE. Beside it, in the same
// rounds, the same messages through bare ZeroMQ and the same records through the bare database writer.
// docs/benchmarks.md says how to read it.
// Usage: dispatch [TASKS [ROUNDS [SLOTS]]]
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/log.h"
#include "base/statistics.h"
#include "benchmarks/common.h"
#include "cli/local_drivers.h"
#include "coordinator/server/server.h"
#include "protocol/codec.h"
#include "protocol/socket.h"
#include "storage/database.h"
#include "storage/writer.h"
#include "worker/agent/agent.h"

extern char** environ;

namespace tunefarm::benchmark {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// What a farm's run wrote, in order.
struct Recorded {
    std::vector<std::vector<storage::Record>> submissions;
    std::vector<std::uint64_t> commits;  ///< by submission: transactions that were complete when it came
};

constexpr std::size_t kSteps = 10;
constexpr std::size_t kBundle = 128;  ///< as Scheduler::Options::bundle_most
constexpr const char* kLoopback = "tcp://127.0.0.1:*";

struct Keys {
    protocol::KeyPair coordinator = need(protocol::keygen());
    protocol::KeyPair worker = need(protocol::keygen());
    server::ServerKeys server() const { return {{coordinator.secret_key}, {{worker.public_key, "worker", "worker"}}}; }
    protocol::CurveClient client() const { return {coordinator.public_key, worker}; }
};

double cpu_seconds(int who) {
    rusage usage{};
    ::getrusage(who, &usage);
    const auto seconds = [](const timeval& at) {
        return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ---- the farm ----

/// `worker ENDPOINT STATE SLOTS [SERVER_KEY PUBLIC_KEY SECRET_KEY]`: keys of a benchmark, good for a few seconds.
int run_worker(int argc, char** argv) {
    log::start("worker", log::Level::kWarning);
    worker::AgentOptions options;
    options.endpoint = argv[2];
    options.state_dir = argv[3];
    options.slots = static_cast<std::uint32_t>(std::atoi(argv[4]));
    options.insecure = argc < 8;
    if (argc >= 8) options.curve = protocol::CurveClient{argv[5], {argv[6], argv[7]}};
    options.exit_with_parent = true;
    options.drivers.push_back({"noop", {cli::program_directory() + "/noop-driver"}, {}});
    worker::Agent agent(std::move(options));
    return need(agent.run());
}

pid_t start_worker(const std::string& endpoint, const std::string& state, std::uint32_t slots, const Keys* keys) {
    std::vector<std::string> arguments = {"/proc/self/exe", "worker", endpoint, state, std::to_string(slots)};
    if (keys != nullptr) {
        arguments.insert(arguments.end(),
                         {keys->coordinator.public_key, keys->worker.public_key, keys->worker.secret_key});
    }
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    if (::posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) {
        fail(Error{ErrorKind::kUnavailable, "the worker could not be started"});
    }
    return pid;
}

struct Figures {
    double seconds = 0;     ///< from the submission until everything is durable
    double cpu_own = 0;     ///< coordinator: scheduling, sockets, database
    double cpu_worker = 0;  ///< agent and drivers
    double commits = 0;
};

void check_rows(const std::string& directory, std::size_t tasks) {
    storage::Database db = need(storage::Database::open_readonly(server::database_path(directory)));
    const auto count = [&](const char* sql) { return static_cast<std::size_t>(need(db.query_integer(sql))); };
    const bool all = count("SELECT count(*) FROM task WHERE kind=3 AND state='done' AND action IS NOT NULL") == tasks &&
                     count("SELECT count(*) FROM action WHERE kind=3 AND finished=1 AND outcome=0") == tasks &&
                     count(
                         "SELECT count(*) FROM attempt t JOIN action a ON a.id=t.action WHERE a.kind=3 AND "
                         "t.outcome=0 AND t.started_us>0 AND t.ended_us>=t.started_us") == tasks;
    if (!all) fail(Error{ErrorKind::kInternal, "rows are missing in the database"});
}

Figures run_farm(std::size_t tasks, std::uint32_t slots, const Keys* keys, Recorded* recorded) {
    const TemporaryDirectory directory;
    server::ServerOptions options;
    options.directory = directory.path();
    options.control_endpoint = options.artifacts_endpoint = kLoopback;
    options.insecure = keys == nullptr;
    if (keys != nullptr) options.keys = keys->server();
    const server::Server* recording = nullptr;
    if (recorded != nullptr) {
        options.on_records = [&recording, recorded](const std::vector<storage::Record>& records) {
            recorded->submissions.push_back(records);
            recorded->commits.push_back(recording->storage_stats().commits);
        };
    }
    auto server = need(server::Server::start(options));
    recording = server.get();
    const pid_t worker = start_worker(server->control_endpoint(), directory.path() + "/worker", slots, keys);
    const auto limit = Clock::now() + std::chrono::seconds(60);
    while (server->core().workers() == 0) {
        need(server->turn(milliseconds(50)));
        if (Clock::now() > limit) fail(Error{ErrorKind::kTimeout, "the worker did not say hello"});
    }
    server::CampaignRequest request;
    request.name = "noop";
    request.build_only = true;
    request.targets = {"noop"};
    server::CampaignConfig config;
    config.config.path = "noop";
    config.config.toolchain = "noop";
    config.normalised = fmt::format(R"({{"Toolchain":"noop","Steps":{},"Kernels":{}}})", kSteps, tasks / kSteps);
    config.bytes = config.normalised;
    request.configs.push_back(std::move(config));

    Figures out;
    const double cpu_before = cpu_seconds(RUSAGE_SELF);
    const auto begin = Clock::now();
    const CampaignId campaign = need(server->submit(request)).campaign;
    while (server->core().state(campaign) <= schedule::CampaignState::kRunning) need(server->turn(milliseconds(100)));
    need(server->flush());
    out.seconds = since(begin);
    out.cpu_own = cpu_seconds(RUSAGE_SELF) - cpu_before;
    if (server->core().state(campaign) != schedule::CampaignState::kDone) {
        for (const std::string& why : server->core().failures(campaign)) std::fprintf(stderr, "%s\n", why.c_str());
        fail(Error{ErrorKind::kInternal, "the campaign did not end well"});
    }
    out.commits = static_cast<double>(server->storage_stats().commits);
    server->core().shut_down(true, "the benchmark has ended");
    const double children_before = cpu_seconds(RUSAGE_CHILDREN);
    const auto stop_limit = Clock::now() + std::chrono::seconds(5);
    int status = 0;
    while (::waitpid(worker, &status, WNOHANG) == 0) {
        need(server->turn(milliseconds(10)));
        if (Clock::now() > stop_limit) ::kill(worker, SIGKILL);
    }
    out.cpu_worker = cpu_seconds(RUSAGE_CHILDREN) - children_before;
    server.reset();
    check_rows(directory.path(), tasks);
    return out;
}

// ---- the bounds ----

/// The same messages, without anybody who reads them: bundles out, one result per task back, one acknowledgement per
/// bundle; as many bundles under way as the farm has.
Figures run_zmq(std::size_t tasks, std::uint32_t slots, const Keys* keys) {
    protocol::Assign assign{TaskKind::kBuild, "noop", "noop", "", {}, {}, Micros(300'000'000), Bytes{4LL << 30}};
    protocol::Ack ack;
    for (std::size_t i = 0; i < kBundle; ++i) {
        const protocol::AttemptKey key{ActionId(1'000'000 + static_cast<std::int64_t>(i)), 1};
        assign.items.push_back({key, fmt::format(R"({{"args":{{"i":{},"pad":"{:x>96}","unit":1}},"name":"noop_1_{}"}})",
                                                 1000 + i, "", 1000 + i)});
        ack.keys.push_back(key);
    }
    protocol::AttemptResult result;
    result.key = assign.items.front().key;
    result.result = "{}";
    result.timings = {Micros(1000), Micros(2000), Micros(1), Bytes{4 << 20}, {}};
    const std::string assign_frame = protocol::encode(assign);
    const std::string result_frame = protocol::encode(result);
    const std::string ack_frame = protocol::encode(ack);

    const protocol::Context context;
    std::unique_ptr<protocol::ZapServer> zap;
    protocol::ServerSocket::Options options;
    options.insecure = keys == nullptr;
    if (keys != nullptr) {
        const server::ServerKeys server_keys = keys->server();
        zap = need(protocol::ZapServer::start(context, server_keys.allowed));
        options.curve = server_keys.own;
    }
    auto socket = need(protocol::ServerSocket::bind(context, kLoopback, options));
    const std::size_t bundles = (tasks + kBundle - 1) / kBundle;
    std::thread client([&] {
        protocol::ClientSocket::Options client_options;
        client_options.insecure = keys == nullptr;
        if (keys != nullptr) client_options.curve = keys->client();
        const protocol::Context own;
        auto peer = need(protocol::ClientSocket::connect(own, socket.endpoint(), client_options));
        peer.send(result_frame);
        for (std::size_t done = 0; done < bundles;) {
            protocol::wait({peer}, milliseconds(1000));
            while (auto incoming = peer.receive()) {
                if (incoming->payload.size() == ack_frame.size()) continue;
                for (std::size_t i = 0; i < kBundle; ++i) {
                    while (peer.send(result_frame) != protocol::Sent::kSent) std::this_thread::yield();
                }
                ++done;
            }
        }
    });
    const std::size_t window = 2 * slots;
    Figures out;
    double cpu_before = 0;
    Clock::time_point begin;
    std::size_t sent = 0;
    std::size_t received = 0;
    while (received < 1 + bundles * kBundle) {
        protocol::wait({socket}, milliseconds(1000));
        while (auto incoming = socket.receive()) {
            if (received++ == 0) {
                cpu_before = cpu_seconds(RUSAGE_SELF);
                begin = Clock::now();
                for (; sent < std::min(window, bundles); ++sent) socket.send(incoming->peer, assign_frame);
            } else if ((received - 1) % kBundle == 0) {
                socket.send(incoming->peer, ack_frame);
                if (sent < bundles) {
                    socket.send(incoming->peer, assign_frame);
                    ++sent;
                }
            }
        }
    }
    out.seconds = since(begin);
    out.cpu_own = cpu_seconds(RUSAGE_SELF) - cpu_before;
    client.join();
    return out;
}

/// The records of a farm's run, in their order, through the writer alone: in the transactions that the farm made, or
/// all at once, where most of the records of a row fall into one transaction and only the last one is written.
Figures run_sqlite(const Recorded& recorded, bool at_once) {
    const TemporaryDirectory directory;
    auto writer = need(storage::Writer::open(server::database_path(directory.path())));
    auto copies = recorded.submissions;
    Figures out;
    const double cpu_before = cpu_seconds(RUSAGE_SELF);
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < copies.size(); ++i) {
        if (!at_once && i > 0 && recorded.commits[i] != recorded.commits[i - 1]) need(writer->flush());
        writer->submit(std::move(copies[i]));
    }
    need(writer->flush());
    out.seconds = since(begin);
    out.cpu_own = cpu_seconds(RUSAGE_SELF) - cpu_before;
    out.commits = static_cast<double>(writer->stats().commits);
    return out;
}

int main_checked(int argc, char** argv) {
    const auto argument = [&](int index, std::size_t otherwise) {
        return argc > index ? static_cast<std::size_t>(std::max(1, std::atoi(argv[index]))) : otherwise;
    };
    const std::size_t tasks = std::max(kSteps, argument(1, 50'000) / kSteps * kSteps);
    const std::size_t rounds = argument(2, 5);
    const auto slots = static_cast<std::uint32_t>(argument(3, usable_cpus()));
    log::start("dispatch", log::Level::kWarning);
    std::printf("machine: %s\n", machine().c_str());
    const Keys keys;
    Recorded recorded;
    run_farm(tasks, slots, &keys, &recorded);
    std::size_t records = 0;
    for (const auto& submission : recorded.submissions) records += submission.size();
    std::printf("%zu no-op tasks in %zu steps, one worker process of %u slots, TCP loopback, %zu rounds; medians\n",
                tasks, kSteps, slots, rounds);
    std::printf("%.2f records per task in %zu submissions; synchronous=FULL\n",
                static_cast<double>(records) / static_cast<double>(tasks), recorded.submissions.size());

    const std::array<const char*, 6> names = {"farm, CURVE",   "farm, plain",       "ZeroMQ, CURVE",
                                              "ZeroMQ, plain", "SQLite, as farm's", "SQLite, at once"};
    std::array<std::vector<Figures>, 6> figures;
    for (std::size_t round = 0; round < rounds; ++round) {
        figures[0].push_back(run_farm(tasks, slots, &keys, nullptr));
        figures[1].push_back(run_farm(tasks, slots, nullptr, nullptr));
        figures[2].push_back(run_zmq(tasks, slots, &keys));
        figures[3].push_back(run_zmq(tasks, slots, nullptr));
        figures[4].push_back(run_sqlite(recorded, false));
        figures[5].push_back(run_sqlite(recorded, true));
        std::fprintf(stderr, "dispatch: round %zu: %.2f s with CURVE, %.2f s in bare SQLite\n", round + 1,
                     figures[0].back().seconds, figures[4].back().seconds);
    }
    const auto each_us = [&](double seconds) { return seconds * 1e6 / static_cast<double>(tasks); };
    std::printf("%-20s %10s %14s %14s %9s %18s\n", "", "tasks/s", "own CPU us", "worker CPU us", "commits",
                "farm, CURVE / this");
    for (std::size_t mode = 0; mode < names.size(); ++mode) {
        std::vector<double> rate, own, worker, commits, ratio;
        for (std::size_t i = 0; i < rounds; ++i) {
            const Figures& one = figures[mode][i];
            rate.push_back(static_cast<double>(tasks) / one.seconds);
            own.push_back(each_us(one.cpu_own));
            worker.push_back(each_us(one.cpu_worker));
            commits.push_back(one.commits);
            ratio.push_back(one.seconds / figures[0][i].seconds);
        }
        std::printf("%-20s %10.0f %14.1f %14.1f %9.0f %18.3f\n", names[mode], median(rate), median(own), median(worker),
                    median(commits), median(ratio));
    }
    std::printf("CPU: user and system microseconds per task; a bare mode's includes both of its ends\n");
    return 0;
}

}  // namespace
}  // namespace tunefarm::benchmark

int main(int argc, char** argv) {
    if (argc >= 5 && std::string(argv[1]) == "worker") return tunefarm::benchmark::run_worker(argc, argv);
    return tunefarm::benchmark::main_checked(argc, argv);
}
