// SPDX-License-Identifier: MIT
#include "coordinator/server/server.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "coordinator/server/client_desk.h"
#include "coordinator/server/coordinator_file.h"
#include "coordinator/server/farm_clock.h"
#include "coordinator/server/key_filter.h"
#include "coordinator/server/submissions.h"
#include "protocol/artifact_server.h"
#include "protocol/client_messages.h"
#include "protocol/codec.h"
#include "protocol/socket.h"
#include "storage/artifact_store.h"
#include "storage/state_reader.h"
#include "storage/writer.h"

namespace tunefarm::server {
namespace {

// The largest artifact that the coordinator reads itself: a step document.
constexpr std::int64_t kMaxDocument = 1LL << 30;
// Messages handled before the loop looks at the clock and the commits again.
constexpr int kMessagesPerTurn = 1000;

class SocketTransport : public Transport {
  public:
    explicit SocketTransport(protocol::ServerSocket& socket) : socket_(socket) {}
    bool send(const std::string& peer, const protocol::FromCoordinator& message) override {
        return socket_.send(peer, protocol::encode(message)) == protocol::Sent::kSent;
    }

  private:
    protocol::ServerSocket& socket_;
};

class WriterJournal : public Journal {
  public:
    WriterJournal(storage::Writer& writer, KeyFilter& keys,
                  std::function<void(const std::vector<storage::Record>&)> on_records)
        : writer_(writer), keys_(keys), on_records_(std::move(on_records)) {}
    std::uint64_t submit(std::vector<storage::Record> records) override {
        for (const storage::Record& record : records) {
            if (const auto* action = std::get_if<storage::ActionRecord>(&record)) keys_.add(action->key);
        }
        if (on_records_) on_records_(records);
        return writer_.submit(std::move(records));
    }
    std::uint64_t committed() const override { return writer_.committed(); }

  private:
    storage::Writer& writer_;
    KeyFilter& keys_;
    const std::function<void(const std::vector<storage::Record>&)> on_records_;
};

class DatabaseMemory : public Memory {
  public:
    DatabaseMemory(storage::StateReader& reader, const KeyFilter& keys) : reader_(reader), keys_(keys) {}
    Result<std::optional<storage::CachedAction>> find_action(const Digest& key) override {
        if (!keys_.may_hold(key)) return std::optional<storage::CachedAction>();
        if (in_turn_) TUNEFARM_TRY(reader_.hold());
        return reader_.find_action(key);
    }
    Result<storage::MeasuredProblem> measured(StepId step, std::int32_t problem) override {
        return reader_.measured(step, problem);
    }

    /// The messages of one turn share one snapshot. It is older than what the core forgets for being committed only
    /// if core.committed() is called within the turn.
    void begin_turn() { in_turn_ = true; }
    void end_turn() {
        in_turn_ = false;
        reader_.release();
    }

  private:
    storage::StateReader& reader_;
    const KeyFilter& keys_;
    bool in_turn_ = false;
};

class StoreArtifacts : public Artifacts {
  public:
    explicit StoreArtifacts(storage::ArtifactStore& store) : store_(store) {}
    Result<std::string> get(const Digest& digest) override { return store_.get(digest, kMaxDocument); }
    Result<Digest> put(const std::string& content) override { return store_.put(content); }
    Result<std::vector<Digest>> missing(const std::vector<Digest>& digests) override { return store_.missing(digests); }

  private:
    storage::ArtifactStore& store_;
};

class StoreUpload : public protocol::ArtifactUpload {
  public:
    explicit StoreUpload(storage::Upload upload) : upload_(std::move(upload)) {}
    std::uint64_t have() const override { return static_cast<std::uint64_t>(upload_.have()); }
    Status write(std::uint64_t offset, std::string_view bytes) override {
        return upload_.write(static_cast<std::int64_t>(offset), bytes);
    }
    Status commit() override { return upload_.commit(); }

  private:
    storage::Upload upload_;
};

class StoreBackend : public protocol::ArtifactBackend {
  public:
    explicit StoreBackend(storage::ArtifactStore& store) : store_(store) {}
    Result<std::vector<Digest>> missing(const std::vector<Digest>& digests) override { return store_.missing(digests); }
    Result<std::uint64_t> size(const Digest& digest) override {
        TUNEFARM_ASSIGN(const std::int64_t size, store_.size(digest));
        return static_cast<std::uint64_t>(size);
    }
    Result<std::string> read(const Digest& digest, std::uint64_t offset, std::uint32_t length) override {
        return store_.read(digest, static_cast<std::int64_t>(offset), length);
    }
    Result<std::unique_ptr<protocol::ArtifactUpload>> begin_upload(const Digest& digest, std::uint64_t size) override {
        TUNEFARM_ASSIGN(storage::Upload upload, store_.begin_upload(digest, static_cast<std::int64_t>(size)));
        return std::unique_ptr<protocol::ArtifactUpload>(std::make_unique<StoreUpload>(std::move(upload)));
    }

  private:
    storage::ArtifactStore& store_;
};

/// Ids of actions go over the wire before they are committed, and a worker may outlive the process that gave them out:
/// each process counts from a block of its own, so that no id ever means two actions. 2^20 ids for every second since
/// 2026 last until the next process starts, and for 290,000 years.
std::int64_t id_block(Instant now) {
    constexpr std::int64_t kStartOf2026 = 1'767'225'600;
    const std::int64_t seconds = now.since_epoch.count() / 1'000'000 - kStartOf2026;
    return std::max<std::int64_t>(seconds, 0) << 20;
}

}  // namespace

std::string database_path(const std::string& directory) {
    return directory + "/tunefarm.db";
}
std::string artifacts_path(const std::string& directory) {
    return directory + "/artifacts";
}

// Members are destroyed in reverse order: the core before what it refers to, the artifact server before the store.
struct Server::Impl {
    protocol::Context context;
    std::unique_ptr<protocol::ZapServer> zap;
    std::unique_ptr<storage::Writer> writer;
    std::unique_ptr<storage::StateReader> reader;
    KeyFilter keys;  ///< of what the writer has been given, and of what was there before
    std::unique_ptr<storage::ArtifactStore> store;
    std::unique_ptr<StoreBackend> backend;
    std::unique_ptr<protocol::ArtifactServer> artifact_server;
    std::optional<protocol::ServerSocket> socket;
    std::unique_ptr<SocketTransport> transport;
    std::unique_ptr<WriterJournal> journal;
    std::unique_ptr<DatabaseMemory> memory;
    std::unique_ptr<StoreArtifacts> artifacts;
    std::unique_ptr<Core> core;
    std::unique_ptr<Submissions> submissions;
    std::unique_ptr<CoordinatorFile> file;
    FarmClock clock{wall_clock(), steady_clock()};
    Instant last_tick;
    bool trouble = false;
    bool keys_required = false;
    RateLimit refusals_logged;
    /// Replies that are sent when what they say is durable.
    struct Waiting {
        std::uint64_t ticket = 0;
        std::string peer;
        std::string frame;
    };
    std::deque<Waiting> replies;
    /// Requests of this turn: answered when the core's memory shows the newest state.
    std::vector<std::pair<std::string, protocol::ClientRequest>> asked;

    void handle(const protocol::Incoming& incoming);
    void refuse(const std::string& peer, const Error& error);
    void ask(const std::string& peer, const protocol::ClientRequest& request);
    void send_replies();
};

void Server::Impl::refuse(const std::string& peer, const Error& error) {
    if (const auto left_out = refusals_logged.pass()) {
        log::warning("a message was refused: " + error.message + left_out_text(*left_out));
    }
    core->bad_frame(peer, error);
}

/// Workers and clients share the socket: what each may do is decided here alone.
void Server::Impl::handle(const protocol::Incoming& incoming) {
    const auto message = protocol::decode_to_coordinator(incoming.payload);
    if (!message.ok()) return refuse(incoming.peer, message.error());
    const auto* request = std::get_if<protocol::ClientRequest>(&*message);
    if (keys_required && !(request != nullptr ? protocol::may_ask : protocol::may_work)(incoming.role)) {
        return refuse(incoming.peer,
                      Error{ErrorKind::kUnsupported, "key '" + incoming.user + "' has the role '" + incoming.role +
                                                         "', which may not " + (request != nullptr ? "ask" : "work")});
    }
    if (request != nullptr) {
        asked.emplace_back(incoming.peer, *request);
    } else {
        core->message(incoming.peer, std::get<protocol::FromWorker>(*message), clock.now());
    }
}

void Server::Impl::ask(const std::string& peer, const protocol::ClientRequest& request) {
    // What is retried has ended a moment ago, perhaps. A full disk is not waited for: the reply says so.
    if (std::holds_alternative<protocol::RetryCampaign>(request.what) && writer->health().ok()) {
        static_cast<void>(writer->flush());
    }
    const protocol::ClientReply reply = answer({*core, *submissions, *artifacts}, request, clock.now());
    // Everything that the request changed has been submitted before this ticket.
    const std::uint64_t ticket = changes(request) ? writer->submit({}) : 0;
    replies.push_back({ticket, peer, protocol::encode(reply)});
}

void Server::Impl::send_replies() {
    const std::uint64_t committed = writer->committed();
    while (!replies.empty() && replies.front().ticket <= committed) {
        socket->send(replies.front().peer, replies.front().frame);
        replies.pop_front();
    }
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(const ServerOptions& options) {
    auto impl = std::make_unique<Impl>();
    TUNEFARM_TRY(make_durable_directories(options.directory));
    TUNEFARM_ASSIGN(impl->writer, storage::Writer::open(database_path(options.directory)));
    TUNEFARM_ASSIGN(impl->reader, storage::StateReader::open(database_path(options.directory)));
    TUNEFARM_ASSIGN(impl->store, storage::ArtifactStore::open(artifacts_path(options.directory)));
    TUNEFARM_ASSIGN(storage::LastIds last, impl->reader->last_ids());
    last.action = std::max(last.action, ActionId(id_block(wall_clock())));
    impl->backend = std::make_unique<StoreBackend>(*impl->store);
    protocol::ServerSocket::Options socket;
    socket.insecure = options.insecure;
    if (options.keys) {
        TUNEFARM_ASSIGN(impl->zap, protocol::ZapServer::start(impl->context, options.keys->allowed));
        socket.curve = options.keys->own;
        impl->keys_required = true;
    }
    protocol::ArtifactServer::Options artifacts;
    artifacts.socket = socket;
    TUNEFARM_ASSIGN(impl->artifact_server, protocol::ArtifactServer::start(impl->context, options.artifacts_endpoint,
                                                                           *impl->backend, artifacts));
    TUNEFARM_ASSIGN(impl->socket, protocol::ServerSocket::bind(impl->context, options.control_endpoint, socket));
    impl->transport = std::make_unique<SocketTransport>(*impl->socket);
    TUNEFARM_TRY(impl->reader->each_action_key([&](const Digest& key) { impl->keys.add(key); }));
    impl->journal = std::make_unique<WriterJournal>(*impl->writer, impl->keys, options.on_records);
    impl->memory = std::make_unique<DatabaseMemory>(*impl->reader, impl->keys);
    impl->artifacts = std::make_unique<StoreArtifacts>(*impl->store);
    CoreOptions core;
    core.artifacts_endpoint = impl->artifact_server->endpoint();
    impl->core = std::make_unique<Core>(core, *impl->transport, *impl->journal, *impl->memory, *impl->artifacts, last);
    impl->submissions = std::make_unique<Submissions>(*impl->core, *impl->reader, *impl->journal, *impl->artifacts);
    CoordinatorPlace place{impl->socket->endpoint(), impl->artifact_server->endpoint()};
    if (options.keys) {
        TUNEFARM_ASSIGN(place.server_key, protocol::public_key_of(options.keys->own.secret_key));
    }
    TUNEFARM_ASSIGN(impl->file, CoordinatorFile::write(options.directory, std::move(place)));
    TUNEFARM_ASSIGN(const std::vector<std::string> hosts, impl->reader->connected_hosts());
    impl->core->expect_hosts(hosts, impl->clock.now());
    return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::control_endpoint() const {
    return impl_->socket->endpoint();
}
Core& Server::core() {
    return *impl_->core;
}

Result<Submitted> Server::submit(CampaignRequest request) {
    return impl_->submissions->submit(std::move(request), impl_->clock.now());
}

Result<std::vector<std::string>> Server::take_up_open_campaigns() {
    return impl_->submissions->take_up_all();
}

Result<CampaignId> Server::retry(CampaignId campaign, bool forget) {
    TUNEFARM_TRY(flush());
    TUNEFARM_ASSIGN(const CampaignId id, impl_->submissions->retry(campaign, forget));
    TUNEFARM_TRY(flush());
    impl_->submissions->resume(impl_->clock.now());
    if (!impl_->submissions->waiting().contains(id)) return id;
    return Error{ErrorKind::kInput, "campaign " + std::to_string(id.value()) +
                                        " was begun with other toolchains than this host has now: run its configs as "
                                        "a new campaign"};
}

std::vector<Submitted> Server::take_begun() {
    return impl_->submissions->take_begun();
}

Status Server::turn(std::chrono::milliseconds timeout) {
    protocol::wait({*impl_->socket, protocol::Fd{impl_->writer->event_fd()}}, timeout);
    std::uint64_t ignored = 0;
    static_cast<void>(::read(impl_->writer->event_fd(), &ignored, sizeof ignored));
    impl_->memory->begin_turn();
    for (int i = 0; i < kMessagesPerTurn; ++i) {
        const auto incoming = impl_->socket->receive();
        if (!incoming) break;
        impl_->handle(*incoming);
    }
    impl_->memory->end_turn();
    impl_->core->committed();
    for (const auto& [peer, request] : std::exchange(impl_->asked, {})) impl_->ask(peer, request);
    impl_->send_replies();
    const Instant now = impl_->clock.now();
    if (now - impl_->last_tick >= Micros(200'000)) {
        impl_->last_tick = now;
        impl_->core->tick(now);
        impl_->submissions->resume(now);
    }
    const Status health = impl_->writer->health();
    if (!health.ok() && !impl_->trouble) log::error("the database does not commit: " + health.error().message);
    impl_->trouble = !health.ok();
    if (!health.ok() &&
        (health.error().kind == ErrorKind::kCorruption || health.error().kind == ErrorKind::kInternal)) {
        return health;
    }
    return {};
}

Status Server::flush() {
    return impl_->writer->flush();
}

storage::WriterStats Server::storage_stats() const {
    return impl_->writer->stats();
}

std::string Server::storage_trouble() const {
    const Status health = impl_->writer->health();
    return health.ok() ? "" : health.error().message;
}

}  // namespace tunefarm::server
