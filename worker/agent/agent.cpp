// SPDX-License-Identifier: MIT
#include "worker/agent/agent.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "base/log.h"
#include "protocol/codec.h"
#include "protocol/socket.h"
#include "worker/agent/executor.h"

namespace tunefarm::worker {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRowBatch{100};             ///< rows wait at most this long for company
constexpr milliseconds kHouseKeeping{1000};        ///< parent, disk, silence
constexpr std::chrono::seconds kLockPatience{10};  ///< for an earlier worker to leave the state directory
constexpr Micros kWelcomeLimit{5'000'000};         ///< no answer to a hello: a new socket
constexpr Micros kFirstBackoff{200'000};
constexpr Micros kMaxBackoff{30'000'000};
constexpr std::size_t kResultsPerRound = 256;
constexpr std::uint64_t kDiskFreeAgain = 256ULL << 20;

Micros monotonic() {
    return std::chrono::duration_cast<Micros>(std::chrono::steady_clock::now().time_since_epoch());
}

std::string host_name() {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

Bytes host_memory() {
    return Bytes{static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE)};
}

/// Rows of an attempt as far as they are known, kept until its result is acknowledged.
struct RowLog {
    std::vector<std::string> rows;
    std::size_t sent = 0;
};

}  // namespace

struct Agent::Impl {
    enum class Stop { kNo = 0, kDrain = 1, kNow = 2 };

    explicit Impl(AgentOptions given)
        : options(std::move(given)), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), parent(::getppid()) {}

    AgentOptions options;
    UniqueFd wake;
    const pid_t parent;
    std::atomic<int> stop_requested{0};
    std::atomic<bool> disk_full{false};

    UniqueFd lock;
    protocol::Context context;
    std::vector<protocol::Device> devices;
    std::map<std::string, std::pair<const DeviceKind*, protocol::Device>> device_kinds;
    std::unique_ptr<SlotClock> clock;
    std::unique_ptr<ContentStore> store;
    std::unique_ptr<Outbox> outbox;
    std::unique_ptr<FileDigests> files;
    std::unique_ptr<LocalQueue> queue;
    std::unique_ptr<Transfers> transfers;
    std::unique_ptr<SlotContext> shared;
    RowStream rows;
    std::vector<std::thread> threads;

    // The fields below belong to the thread of run().
    std::optional<protocol::ClientSocket> socket;
    bool welcomed = false;
    std::uint64_t sent = 0;      ///< messages on this connection
    std::uint64_t received = 0;  ///< likewise
    protocol::Hello hello;
    Micros heartbeat{1'000'000};
    Micros dead_after{10'000'000};
    Micros last_heard{0};
    Micros last_beat{0};
    Micros connected_at{0};
    Micros backoff{kFirstBackoff};
    Micros reconnect_at{0};
    std::map<protocol::AttemptKey, RowLog> row_logs;
    Stop stopping = Stop::kNo;
    Micros stop_since{0};
    std::string stop_reason;
    std::string refusal;  ///< why the last handshake failed; empty: it did not
    bool holding_for_disk = false;

    void nudge() {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = ::write(wake.get(), &one, sizeof one);
    }

    Status prepare();
    void probe_and_serve();
    Result<int> loop();
    Status connect();
    void disconnect(Micros now);
    bool send(const protocol::FromWorker& message) { return send_frame(protocol::encode(message)); }
    bool send_frame(const std::string& frame);
    void flush();
    void collect_rows();
    Status receive();
    void handle(protocol::Welcome&& message);
    void handle(protocol::Assign&& message);
    void handle(const protocol::Ack& message);
    void handle(const protocol::Cancel& message);
    void drop(const JobPtr& job, Outcome outcome, const std::string& message);
    void begin_stop(Stop how, const std::string& reason);
    bool may_leave(Micros now) const;
    void watch_disk();
    void note_refusal();
    void shut_down();
};

Agent::Agent(AgentOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

Agent::~Agent() {
    impl_->shut_down();
}

void Agent::request_stop(bool drain) {
    const int wanted = static_cast<int>(drain ? Impl::Stop::kDrain : Impl::Stop::kNow);
    if (impl_->stop_requested.load() < wanted) impl_->stop_requested.store(wanted);
    impl_->nudge();
}

Result<int> Agent::run() {
    const Status prepared = impl_->prepare();
    Result<int> result = 0;
    if (prepared.ok()) {
        result = impl_->loop();
    } else {
        result = prepared.error();
    }
    impl_->shut_down();
    return result;
}

Status Agent::Impl::prepare() {
    if (options.slots == 0) return Error{ErrorKind::kInput, "a worker needs at least one slot"};
    TUNEFARM_TRY(make_directories(options.state_dir, 0700));
    char resolved[PATH_MAX];
    if (::realpath(options.state_dir.c_str(), resolved) == nullptr) return errno_error(options.state_dir);
    options.state_dir = resolved;  // drivers have another working directory
    lock = UniqueFd(::open((options.state_dir + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!lock.valid()) return errno_error(options.state_dir + "/lock");
    // The worker of a run that was killed needs a moment to notice it and to end its drivers.
    const auto patience = std::chrono::steady_clock::now() + kLockPatience;
    while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
        if (std::chrono::steady_clock::now() < patience) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            continue;
        }
        return Error{ErrorKind::kUnavailable, options.state_dir + ": another worker uses this directory"};
    }
    if (options.subreaper) TUNEFARM_TRY(become_subreaper());
    TUNEFARM_TRY(remove_tree(options.state_dir + "/work"));
    TUNEFARM_TRY(remove_tree(options.state_dir + "/slots"));
    TUNEFARM_TRY(make_directories(options.state_dir + "/work", 0700));
    clock = std::make_unique<SlotClock>(options.slots, monotonic);
    TUNEFARM_ASSIGN(store, ContentStore::open(options.state_dir + "/cache", options.cache_limit));
    TUNEFARM_ASSIGN(outbox, Outbox::open(options.state_dir + "/outbox"));
    files = std::make_unique<FileDigests>(options.state_dir + "/digests");
    for (const DeviceKind* kind : options.devices) {
        for (protocol::Device& device : kind->enumerate(options.slots)) {
            device_kinds[device.id] = {kind, device};
            devices.push_back(std::move(device));
        }
    }
    queue = std::make_unique<LocalQueue>(options.slots, devices, *clock);

    protocol::ArtifactClient::Options artifacts;
    artifacts.socket.curve = options.curve;
    artifacts.socket.insecure = options.insecure;
    Transfers::Callbacks callbacks;
    callbacks.inputs_ready = [this](const JobPtr& job) {
        if (!queue->inputs_ready(job)) transfers->unpin_inputs(*job);  // cancelled while on its way; already reported
    };
    callbacks.inputs_failed = [this](const JobPtr& job, const Error& error) {
        if (!queue->remove(job)) return;
        if (error.kind == ErrorKind::kNoSpace) disk_full.store(true);
        drop(job, error.kind == ErrorKind::kNoSpace ? Outcome::kNoSpace : Outcome::kLost, error.message);
    };
    callbacks.results_added = [this] { nudge(); };
    transfers = std::make_unique<Transfers>(context, std::move(artifacts), *store, *outbox, std::move(callbacks));
    shared.reset(new SlotContext{options,
                                 *queue,
                                 *store,
                                 *transfers,
                                 *clock,
                                 *files,
                                 rows,
                                 monotonic,
                                 [this] {
                                     disk_full.store(true);
                                     nudge();
                                 },
                                 [this](const std::string& device) {
                                     const auto it = device_kinds.find(device);
                                     if (it == device_kinds.end()) return std::vector<int>{};
                                     return it->second.first->measuring_cpus(it->second.second);
                                 },
                                 {}});
    probe_and_serve();

    hello.host = options.host.empty() ? host_name() : options.host;
    hello.slots = options.slots;
    hello.memory = options.memory.count > 0 ? options.memory : host_memory();
    hello.devices = devices;
    for (const auto& [name, probe] : shared->probes) {
        hello.capabilities.insert(hello.capabilities.end(), probe.capabilities.begin(), probe.capabilities.end());
        hello.missing.insert(hello.missing.end(), probe.missing.begin(), probe.missing.end());
    }
    std::random_device random;
    for (std::uint8_t& byte : hello.boot) byte = static_cast<std::uint8_t>(random());
    if (const Status saved = files->save(); !saved.ok()) log::warning(saved.error().message);
    return {};
}

/// Toolchains are probed on the slots' threads, at most one per slot at a time: a driver must be started by a thread
/// that outlives it, and it then serves that slot.
void Agent::Impl::probe_and_serve() {
    struct Gate {
        std::mutex mutex;
        std::condition_variable changed;
        std::size_t left = 0;
    };
    const auto gate = std::make_shared<Gate>();
    gate->left = options.drivers.size();
    std::vector<Probe> probes(options.drivers.size());
    for (std::uint32_t number = 0; number < queue->executors(); ++number) {
        threads.emplace_back([this, number, gate, &probes] {
            Executor executor(*shared, number);
            for (std::size_t i = number; number < options.slots && i < options.drivers.size(); i += options.slots) {
                Probe probe = executor.probe(options.drivers[i]);
                const std::lock_guard hold(gate->mutex);
                probes[i] = std::move(probe);
                if (--gate->left == 0) gate->changed.notify_all();
            }
            while (const JobPtr job = queue->take(number)) {
                executor.execute(job);
                transfers->unpin_inputs(*job);
                queue->done(number, job);
                nudge();
            }
            if (number < options.slots) clock->idle(number, kIdleDraining);
        });
    }
    std::unique_lock hold(gate->mutex);
    gate->changed.wait(hold, [&] { return gate->left == 0; });
    for (std::size_t i = 0; i < probes.size(); ++i) shared->probes[options.drivers[i].name] = std::move(probes[i]);
}

Status Agent::Impl::connect() {
    protocol::ClientSocket::Options socket_options;
    socket_options.curve = options.curve;
    socket_options.insecure = options.insecure;
    socket.reset();
    TUNEFARM_ASSIGN(socket, protocol::ClientSocket::connect(context, options.endpoint, socket_options));
    welcomed = false;
    sent = received = 0;
    connected_at = last_beat = monotonic();
    hello.running = queue->attempts();
    send(hello);
    return {};
}

bool Agent::Impl::send_frame(const std::string& frame) {
    if (socket->send(frame) != protocol::Sent::kSent) return false;
    ++sent;
    return true;
}

void Agent::Impl::collect_rows() {
    for (auto& [key, row] : rows.take()) row_logs[key].rows.push_back(std::move(row));
}

/// Sends what has not been sent on this connection: rows first, then results, since a result ends its attempt.
void Agent::Impl::flush() {
    constexpr std::size_t kRowsPerFrame = 512;
    constexpr std::size_t kBytesPerFrame = 512U << 10;
    // A result is added to the outbox after its last row was pushed: taken in this order no row is overtaken.
    const auto results = outbox->take_unsent(kResultsPerRound);
    collect_rows();
    if (!welcomed) {
        for (const auto& entry : results) outbox->put_back(entry->key);
        return;
    }
    for (auto& [key, log] : row_logs) {
        while (log.sent < log.rows.size()) {
            protocol::Rows message{key, log.sent, {}};
            std::size_t bytes = 0;
            for (std::size_t i = log.sent; i < log.rows.size() && message.rows.size() < kRowsPerFrame; ++i) {
                bytes += log.rows[i].size();
                if (!message.rows.empty() && bytes > kBytesPerFrame) break;
                message.rows.push_back(log.rows[i]);
            }
            const std::size_t count = message.rows.size();
            if (!send(std::move(message))) break;
            log.sent += count;
        }
    }
    bool blocked = false;
    for (const auto& entry : results) {
        const auto log = row_logs.find(entry->key);
        const bool rows_known = log != row_logs.end();
        blocked = blocked || (rows_known && log->second.sent < log->second.rows.size());
        // Rows of an earlier process are only in the outbox.
        for (std::size_t i = rows_known ? entry->frames.size() - 1 : 0; !blocked && i < entry->frames.size(); ++i) {
            blocked = !send_frame(entry->frames[i]);
        }
        if (blocked) outbox->put_back(entry->key);
    }
    if (results.size() == kResultsPerRound && !blocked) nudge();
}

void Agent::Impl::drop(const JobPtr& job, Outcome outcome, const std::string& message) {
    for (const protocol::Item& item : job->assign.items) {
        protocol::AttemptResult result;
        result.key = item.key;
        result.outcome = outcome;
        result.message = message;
        result.result = "{}";
        result.timings.started = result.timings.ended = monotonic() - job->arrived;
        transfers->finish({std::move(result), {}, {}});
    }
}

void Agent::Impl::handle(protocol::Welcome&& message) {
    heartbeat = std::max(message.heartbeat, Micros{50'000});
    dead_after = std::max(message.dead_after, heartbeat * 2);
    welcomed = true;
    refusal.clear();
    backoff = kFirstBackoff;
    transfers->set_endpoint(message.artifacts);
    outbox->reset();
    for (auto& [key, log] : row_logs) log.sent = 0;
    queue->set_idle_reason(kIdleNoWork);
    if (holding_for_disk) send(protocol::Credit{0, Bytes{0}, std::string(kIdleDiskFull)});
    log::info("joined farm '" + message.farm + "' at " + options.endpoint);
}

void Agent::Impl::handle(protocol::Assign&& message) {
    auto job = std::make_shared<Job>();
    job->assign = std::move(message);
    job->arrived = monotonic();
    if (job->assign.items.empty()) return;
    if (stopping != Stop::kNo) return;  // the Goodbye tells the coordinator to give it to another
    const bool several = job->assign.kind == TaskKind::kBuild || job->assign.kind == TaskKind::kNoop;
    if (!several && job->assign.items.size() != 1) {
        return drop(job, Outcome::kUnsupported, "only builds and no-ops carry several items");
    }
    if (job->assign.kind == TaskKind::kMeasure && device_kinds.count(job->assign.device) == 0) {
        return drop(job, Outcome::kUnsupported, "this worker has no device '" + job->assign.device + "'");
    }
    const bool ready = transfers->pin_inputs(*job);
    queue->add(job, ready);
    if (!ready) transfers->fetch(job);
}

void Agent::Impl::handle(const protocol::Ack& message) {
    outbox->acknowledge(message.keys);
    for (const protocol::AttemptKey& key : message.keys) row_logs.erase(key);
}

void Agent::Impl::handle(const protocol::Cancel& message) {
    for (const JobPtr& job : queue->cancel(message.keys, message.reason)) {
        transfers->unpin_inputs(*job);
        drop(job, Outcome::kCancelled, message.reason);
    }
}

void Agent::Impl::disconnect(Micros now) {
    // A new socket has a new routing id: a coordinator that still holds the old one is not confused.
    socket.reset();
    welcomed = false;
    queue->set_idle_reason(kIdleDisconnected);
    std::uniform_int_distribution<std::int64_t> jitter(0, backoff.count() / 2);
    std::random_device random;
    reconnect_at = now + backoff / 2 + Micros{jitter(random)};
    backoff = std::min(backoff * 2, kMaxBackoff);
}

Status Agent::Impl::receive() {
    while (auto incoming = socket->receive()) {
        last_heard = monotonic();
        const std::uint64_t before = received++;
        auto message = protocol::decode_from_coordinator(incoming->payload);
        if (!message.ok()) {
            log::warning("a message of the coordinator is not understood: " + message.error().message);
            continue;
        }
        if (const auto* refused = std::get_if<protocol::Refused>(&*message)) {
            if (refused->hello_again) {
                log::info("saying hello again: " + refused->reason);
                disconnect(monotonic());
                return {};
            }
            return Error{ErrorKind::kUnsupported, "the coordinator refused this worker: " + refused->reason};
        }
        if (auto* welcome = std::get_if<protocol::Welcome>(&*message)) {
            handle(std::move(*welcome));
        } else if (const auto* beat = std::get_if<protocol::CoordinatorHeartbeat>(&*message)) {
            if (beat->sent == 0 || beat->sent == before) continue;
            log::warning("messages of the coordinator were lost: saying hello again");
            disconnect(monotonic());
            return {};
        } else if (auto* assign = std::get_if<protocol::Assign>(&*message)) {
            handle(std::move(*assign));
        } else if (const auto* ack = std::get_if<protocol::Ack>(&*message)) {
            handle(*ack);
        } else if (const auto* cancel = std::get_if<protocol::Cancel>(&*message)) {
            handle(*cancel);
        } else if (const auto* shutdown = std::get_if<protocol::Shutdown>(&*message)) {
            begin_stop(shutdown->drain ? Stop::kDrain : Stop::kNow, shutdown->reason);
        }
    }
    return {};
}

void Agent::Impl::begin_stop(Stop how, const std::string& reason) {
    if (how <= stopping) return;
    if (stopping == Stop::kNo) stop_since = monotonic();
    stopping = how;
    stop_reason = reason;
    log::info(std::string(how == Stop::kDrain ? "draining" : "stopping") + (reason.empty() ? "" : ": " + reason));
    queue->set_idle_reason(kIdleDraining);
    queue->close(how == Stop::kNow, reason);
}

bool Agent::Impl::may_leave(Micros now) const {
    if (stopping == Stop::kNo) return false;
    if (!queue->idle()) return false;
    if (stopping == Stop::kNow) return true;
    const bool told = transfers->idle() && outbox->pending() == 0;
    // Results that nobody acknowledges stay in the outbox for the next start.
    return told || now - std::max(stop_since, last_heard) > options.drain_limit;
}

void Agent::Impl::watch_disk() {
    if (!holding_for_disk && disk_full.load()) {
        holding_for_disk = true;
        log::warning(options.state_dir + ": the disk is full; nothing starts until there is space");
        queue->hold(kIdleDiskFull);
        if (welcomed) send(protocol::Credit{0, Bytes{0}, std::string(kIdleDiskFull)});
    } else if (holding_for_disk) {
        struct statvfs info{};
        if (::statvfs(options.state_dir.c_str(), &info) != 0) return;
        if (static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize < kDiskFreeAgain) return;
        holding_for_disk = false;
        disk_full.store(false);
        queue->release();
        if (welcomed) send(protocol::Credit{options.slots, hello.memory, ""});
    }
}

/// Says why the coordinator was not reached, once for each reason.
void Agent::Impl::note_refusal() {
    const auto last = socket->refusal();
    if (!last) return;
    std::string why = last->reason;
    if (last->key_refused) why = "it does not accept this worker's key: the key's .pub must be on its allow list";
    if (why == refusal) return;
    refusal = std::move(why);
    log::warning(options.endpoint + ": " + refusal + "; going on trying");
}

Result<int> Agent::Impl::loop() {
    last_heard = monotonic();
    TUNEFARM_TRY(connect());
    for (;;) {
        Micros now = monotonic();
        milliseconds timeout = kHouseKeeping;
        if (welcomed) {
            const auto next_beat = std::chrono::duration_cast<milliseconds>(last_beat + heartbeat - now);
            timeout = std::clamp(next_beat + milliseconds(1), milliseconds(0), kHouseKeeping);
        }
        if (!socket)
            timeout = std::min(timeout, std::chrono::duration_cast<milliseconds>(
                                            std::max(Micros{0}, reconnect_at - now) + Micros{1'000}));
        if (queue->measuring()) timeout = std::min(timeout, kRowBatch);
        std::vector<protocol::Waitable> items{protocol::Fd{wake.get()}};
        if (socket) items.emplace_back(*socket);
        protocol::wait(items, timeout);
        std::uint64_t count = 0;
        [[maybe_unused]] const ssize_t n = ::read(wake.get(), &count, sizeof count);

        if (socket) TUNEFARM_TRY(receive());
        if (socket && !welcomed) note_refusal();
        const int requested = stop_requested.load();
        if (requested > static_cast<int>(stopping)) begin_stop(static_cast<Stop>(requested), "stop requested");
        if (options.exit_with_parent && ::getppid() != parent) begin_stop(Stop::kNow, "the parent process has ended");
        watch_disk();
        flush();

        now = monotonic();
        if (welcomed && now - last_beat >= heartbeat) {
            last_beat = now;
            send(protocol::WorkerHeartbeat{queue->attempts(), clock->account(), sent});
        }
        if (may_leave(now)) {
            if (welcomed) {
                send(protocol::WorkerHeartbeat{{}, clock->account(), sent});
                send(protocol::Goodbye{stop_reason});
            }
            return 0;
        }
        const bool silent = welcomed ? now - last_heard > dead_after : now - connected_at > kWelcomeLimit;
        if (silent && socket) {
            if (welcomed) log::warning("the coordinator is silent; going on and trying to reach it");
            disconnect(now);
        }
        if (!socket && now >= reconnect_at) TUNEFARM_TRY(connect());
        if (now - last_heard > options.give_up) {
            return Error{ErrorKind::kUnavailable, options.endpoint + ": no coordinator for " +
                                                      std::to_string(options.give_up.count() / 1'000'000) + " s" +
                                                      (refusal.empty() ? "" : ": " + refusal)};
        }
    }
}

void Agent::Impl::shut_down() {
    if (queue) queue->close(true, "the worker stops");
    for (std::thread& thread : threads) {
        if (thread.joinable()) thread.join();
    }
    threads.clear();
    if (transfers) transfers->stop();
    socket.reset();
    lock.reset();
}

}  // namespace tunefarm::worker
