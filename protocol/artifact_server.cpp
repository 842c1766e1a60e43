// SPDX-License-Identifier: MIT
#include "protocol/artifact_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <map>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/rate_limit.h"
#include "protocol/artifact_messages.h"
#include "protocol/limits.h"

namespace tunefarm::protocol {
namespace {

using Clock = std::chrono::steady_clock;

/// Answers queued for one client: above the largest sensible window, and small enough to bound memory (32 MiB a peer).
constexpr int kHighWater = 64;
/// How often idle uploads are looked for.
constexpr std::chrono::milliseconds kSweep{1000};

}  // namespace

struct ArtifactServer::Impl {
    struct OpenUpload {
        std::unique_ptr<ArtifactUpload> upload;
        std::uint64_t size = 0;
        std::string owner;  ///< routing id of the peer that may write
        Clock::time_point touched;
    };

    ServerSocket socket;
    ArtifactBackend& backend;
    Options options;
    UniqueFd stop{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::map<Digest, OpenUpload> uploads;
    std::thread thread;

    std::atomic<std::uint64_t> requests{0};
    std::atomic<std::uint64_t> bytes_out{0};
    std::atomic<std::uint64_t> bytes_in{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> unsent{0};
    RateLimit logged;

    Impl(ServerSocket bound, ArtifactBackend& store, Options given)
        : socket(std::move(bound)), backend(store), options(std::move(given)) {}

    void serve();
    void answer(const Incoming& incoming);
    /// What the sender's role does not allow; empty: nothing.
    std::string forbidden(const Incoming& from, const ArtifactRequest& request) const;
    void send(const std::string& peer, const ArtifactReply& reply, std::string_view attachment = {});
    void handle(const Incoming& from, const Get& get);
    void handle(const Incoming& from, const FindMissing& find);
    void handle(const Incoming& from, const Put& put);
    ArtifactReply put_reply(const Incoming& from, const Put& put);
    /// Closes uploads that nobody has touched for `age`.
    void forget_idle(Clock::time_point now);
};

ArtifactServer::ArtifactServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ArtifactServer>> ArtifactServer::start(const Context& context, const std::string& endpoint,
                                                              ArtifactBackend& backend, const Options& options) {
    ServerSocket::Options socket_options = options.socket;
    socket_options.max_frame = kMaxArtifactFrame;
    socket_options.high_water = kHighWater;
    TUNEFARM_ASSIGN(ServerSocket socket, ServerSocket::bind(context, endpoint, socket_options));
    auto impl = std::make_unique<Impl>(std::move(socket), backend, options);
    if (!impl->stop.valid()) return errno_error("eventfd");
    Impl* running = impl.get();
    std::unique_ptr<ArtifactServer> server(new ArtifactServer(std::move(impl)));
    running->thread = std::thread([running] { running->serve(); });
    return server;
}

ArtifactServer::~ArtifactServer() {
    if (impl_->thread.joinable()) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = ::write(impl_->stop.get(), &one, sizeof one);
        impl_->thread.join();
    }
}

const std::string& ArtifactServer::endpoint() const {
    return impl_->socket.endpoint();
}

ArtifactServer::Counters ArtifactServer::counters() const {
    return {impl_->requests, impl_->bytes_out, impl_->bytes_in, impl_->refused, impl_->unsent};
}

void ArtifactServer::Impl::serve() {
    auto next_sweep = Clock::now() + kSweep;
    for (;;) {
        const auto ready = wait({socket, Fd{stop.get()}}, kSweep);
        if (ready[1]) return;
        // One message per round, so that stopping never waits for a queue.
        if (const auto incoming = socket.receive()) {
            try {
                answer(*incoming);
            } catch (const std::exception& exception) {
                // The boundary of this thread: a bug in one request must not end all transfers.
                log::error(std::string("artifact server: ") + exception.what());
            }
        }
        const auto now = Clock::now();
        if (now >= next_sweep) {
            forget_idle(now);
            next_sweep = now + kSweep;
        }
    }
}

void ArtifactServer::Impl::forget_idle(Clock::time_point now) {
    std::erase_if(uploads, [&](const auto& entry) { return now - entry.second.touched > options.upload_forget; });
}

void ArtifactServer::Impl::answer(const Incoming& incoming) {
    const auto request = decode_artifact_request(incoming.payload);
    if (!request.ok()) {
        ++refused;
        // Without a readable request there is no number to repeat; 0 is never a client's.
        send(incoming.peer, Failed{0, request.error().kind, request.error().message});
        return;
    }
    const std::string forbids = forbidden(incoming, *request);
    if (!forbids.empty()) {
        ++refused;
        const std::string why = "key '" + incoming.user + "' has the role '" + incoming.role + "', which " + forbids;
        if (const auto left_out = logged.pass()) {
            log::warning("an artifact request was refused: " + why + left_out_text(*left_out));
        }
        const std::uint64_t number = std::visit([](const auto& r) { return r.request; }, *request);
        return send(incoming.peer, Failed{number, ErrorKind::kUnsupported, why});
    }
    ++requests;
    std::visit([&](const auto& r) { handle(incoming, r); }, *request);
}

std::string ArtifactServer::Impl::forbidden(const Incoming& from, const ArtifactRequest& request) const {
    if (!options.socket.curve) return "";
    // Who may store has to learn what is there already.
    if (std::holds_alternative<Get>(request)) return may_fetch(from.role) ? "" : "may not fetch artifacts";
    return may_store(from.role) ? "" : "may not store artifacts";
}

void ArtifactServer::Impl::send(const std::string& peer, const ArtifactReply& reply, std::string_view attachment) {
    if (socket.send(peer, encode(reply), attachment) != Sent::kSent) ++unsent;
}

void ArtifactServer::Impl::handle(const Incoming& from, const Get& get) {
    const auto size = backend.size(get.digest);
    if (!size.ok()) {
        if (size.error().kind == ErrorKind::kNotFound) return send(from.peer, NotFound{get.request});
        return send(from.peer, Failed{get.request, size.error().kind, size.error().message});
    }
    if (get.offset > *size) {
        return send(from.peer, Failed{get.request, ErrorKind::kInput, "offset beyond the end of the artifact"});
    }
    std::string content;
    if (get.offset < *size && get.length > 0) {
        auto read = backend.read(get.digest, get.offset, get.length);
        if (!read.ok()) {
            if (read.error().kind == ErrorKind::kNotFound) return send(from.peer, NotFound{get.request});
            return send(from.peer, Failed{get.request, read.error().kind, read.error().message});
        }
        content = std::move(read).value();
    }
    Chunk chunk;
    chunk.request = get.request;
    chunk.offset = get.offset;
    chunk.size = *size;
    chunk.length = static_cast<std::uint32_t>(content.size());
    const std::string packed = pack_chunk(content, get.accept_zstd, chunk.codec);
    bytes_out += content.size();
    send(from.peer, chunk, packed);
}

void ArtifactServer::Impl::handle(const Incoming& from, const FindMissing& find) {
    auto missing = backend.missing(find.digests);
    if (!missing.ok()) return send(from.peer, Failed{find.request, missing.error().kind, missing.error().message});
    send(from.peer, MissingReply{find.request, std::move(missing).value()});
}

void ArtifactServer::Impl::handle(const Incoming& from, const Put& put) {
    send(from.peer, put_reply(from, put));
}

ArtifactReply ArtifactServer::Impl::put_reply(const Incoming& from, const Put& put) {
    const auto failed = [&](const Error& error) { return Failed{put.request, error.kind, error.message}; };
    const auto now = Clock::now();
    if (put.offset + put.length > put.size) {
        return failed(Error{ErrorKind::kInput, "bytes beyond the end of the artifact"});
    }
    auto found = uploads.find(put.digest);
    if (found == uploads.end()) {
        // Also the way in which a client learns that its last chunk was committed, when that answer was lost.
        auto missing = backend.missing({put.digest});
        if (!missing.ok()) return failed(missing.error());
        if (missing->empty()) return PutStatus{put.request, put.size, true, false};
        if (uploads.size() >= options.max_uploads) return PutStatus{put.request, 0, false, true};
        auto begun = backend.begin_upload(put.digest, put.size);
        if (!begun.ok()) return failed(begun.error());
        found = uploads.emplace(put.digest, OpenUpload{std::move(begun).value(), put.size, from.peer, now}).first;
    }
    OpenUpload& open = found->second;
    if (open.size != put.size) return failed(Error{ErrorKind::kInput, "the artifact is being sent with another size"});
    if (open.owner != from.peer) {
        if (now - open.touched < options.upload_idle) return PutStatus{put.request, open.upload->have(), false, true};
        open.owner = from.peer;
    }
    open.touched = now;
    // A repeated or early chunk changes nothing; the answer tells the client where to go on.
    if (put.length > 0 && put.offset == open.upload->have()) {
        const auto content = unpack_chunk(from.attachment, put.codec, put.length);
        if (!content.ok()) return failed(content.error());
        const Status written = open.upload->write(put.offset, *content);
        if (!written.ok()) {
            uploads.erase(found);
            return failed(written.error());
        }
        bytes_in += content->size();
    }
    const std::uint64_t have = open.upload->have();
    if (have < open.size) return PutStatus{put.request, have, false, false};
    const Status committed = open.upload->commit();
    uploads.erase(found);
    if (!committed.ok()) return failed(committed.error());
    return PutStatus{put.request, have, true, false};
}

}  // namespace tunefarm::protocol
