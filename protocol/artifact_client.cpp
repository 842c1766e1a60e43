// SPDX-License-Identifier: MIT
#include "protocol/artifact_client.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "protocol/artifact_channel.h"
#include "protocol/limits.h"
#include "protocol/partial_file.h"

namespace tunefarm::protocol {
namespace {

/// While another peer sends the same artifact.
constexpr std::chrono::milliseconds kBusyPause{20};
/// One repetition tells a damaged transfer (or a damaged partial file) from damaged content.
constexpr int kMaxCorruptions = 2;

/// Random access to what is uploaded.
class Source {
  public:
    static Result<Source> open(const LocalArtifact& artifact) {
        Source source;
        if (artifact.path.empty()) {
            source.bytes_ = &artifact.bytes;
            source.size_ = artifact.bytes.size();
            return source;
        }
        source.path_ = artifact.path;
        source.fd_ = UniqueFd(::open(artifact.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (!source.fd_.valid()) return errno_error(artifact.path);
        struct stat info{};
        if (::fstat(source.fd_.get(), &info) != 0) return errno_error(artifact.path);
        if (!S_ISREG(info.st_mode)) return Error{ErrorKind::kInput, artifact.path + ": is not a regular file"};
        source.size_ = static_cast<std::uint64_t>(info.st_size);
        return source;
    }

    std::uint64_t size() const { return size_; }

    Result<std::string> read(std::uint64_t offset, std::uint32_t length) const {
        if (bytes_ != nullptr) return bytes_->substr(offset, length);
        std::string out(length, '\0');
        std::size_t done = 0;
        while (done < out.size()) {
            const ssize_t n =
                ::pread(fd_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return errno_error(path_);
            if (n == 0) return Error{ErrorKind::kIo, path_ + ": became shorter while it was sent"};
            done += static_cast<std::size_t>(n);
        }
        return out;
    }

  private:
    const std::string* bytes_ = nullptr;
    std::string path_;
    UniqueFd fd_;
    std::uint64_t size_ = 0;
};

std::uint32_t length_at(std::uint64_t offset, std::uint64_t size, std::uint32_t chunk) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, size - offset));
}

Error failure(const Failed& failed) {
    return Error{failed.kind, "artifact server: " + failed.message};
}

Error wrong_answer() {
    return Error{ErrorKind::kCorruption, "artifact server: an answer of another kind than asked"};
}

}  // namespace

struct ArtifactClient::Impl {
    ArtifactChannel channel;
    std::uint32_t chunk;
    std::size_t window;
    Counters counters;

    Impl(const Context& context, std::string endpoint, const Options& options)
        : channel(context, std::move(endpoint), options),
          chunk(std::clamp<std::uint32_t>(options.chunk, 1, kMaxChunk)),
          window(std::max<std::size_t>(options.window, 1)) {}

    Status fetch(const Digest& digest, std::uint64_t size, FetchSink& sink);
    Status fetch_missing_bytes(const Digest& digest, std::uint64_t size, FetchSink& sink);
    Status take_chunk(const ArtifactChannel::Answer& answer, std::uint64_t size, FetchSink& sink);

    Result<std::vector<Digest>> find_missing(const std::vector<Digest>& digests);
    Result<bool> send_chunk(const Digest& digest, const Source& source, std::uint64_t offset, std::uint32_t length);
    Result<std::vector<const LocalArtifact*>> put_small(const std::vector<const LocalArtifact*>& artifacts);
    Status put_one(const LocalArtifact& artifact);
    Result<bool> put_session(const LocalArtifact& artifact, const Source& source, std::optional<std::uint64_t>& best);
};

ArtifactClient::ArtifactClient(const Context& context, std::string endpoint, const Options& options)
    : impl_(std::make_unique<Impl>(context, std::move(endpoint), options)) {}
ArtifactClient::~ArtifactClient() = default;

ArtifactClient::Counters ArtifactClient::counters() const {
    Counters out = impl_->counters;
    out.sockets = impl_->channel.sockets();
    return out;
}

// ---- fetching ----

Status ArtifactClient::fetch_file(const Digest& digest, std::uint64_t size, const std::string& path) {
    TUNEFARM_ASSIGN(PartialFile sink, PartialFile::open(digest, size, path));
    const Status fetched = impl_->fetch(digest, size, sink);
    // An empty partial file is no use to a later call.
    if (!fetched.ok() && sink.have() == 0) sink.discard();
    return fetched;
}

Result<std::string> ArtifactClient::fetch_bytes(const Digest& digest, std::uint64_t size) {
    MemorySink sink(digest);
    TUNEFARM_TRY(impl_->fetch(digest, size, sink));
    return sink.take();
}

Status ArtifactClient::Impl::fetch(const Digest& digest, std::uint64_t size, FetchSink& sink) {
    if (size > kMaxArtifact) return Error{ErrorKind::kInput, "artifact " + digest.hex() + ": too large"};
    channel.begin();
    for (int corruptions = 0;;) {
        TUNEFARM_TRY(fetch_missing_bytes(digest, size, sink));
        const Status finished = sink.finish();
        if (finished.ok() || finished.error().kind != ErrorKind::kCorruption) return finished;
        if (++corruptions == kMaxCorruptions) return finished;
    }
}

/// Go-back-N: answers come in the order of the requests, so anything else means that some were lost.
Status ArtifactClient::Impl::fetch_missing_bytes(const Digest& digest, std::uint64_t size, FetchSink& sink) {
    channel.forget();
    std::uint64_t next = sink.have();
    while (sink.have() < size) {
        while (next < size && channel.in_flight() < window) {
            Get get;
            get.digest = digest;
            get.offset = next;
            get.length = length_at(next, size, chunk);
            get.accept_zstd = channel.tcp();
            TUNEFARM_ASSIGN(const bool sent, channel.send(get, next, get.length));
            if (!sent) break;
            next += get.length;
        }
        TUNEFARM_ASSIGN(const auto answer, channel.receive());
        if (!answer) {
            next = sink.have();
            continue;
        }
        if (answer->offset != sink.have()) {
            channel.forget();
            next = sink.have();
            continue;
        }
        TUNEFARM_TRY(take_chunk(*answer, size, sink));
        channel.progress();
    }
    return {};
}

Status ArtifactClient::Impl::take_chunk(const ArtifactChannel::Answer& answer, std::uint64_t size, FetchSink& sink) {
    if (std::holds_alternative<NotFound>(answer.reply))
        return Error{ErrorKind::kNotFound, "the server does not hold it"};
    if (const auto* failed = std::get_if<Failed>(&answer.reply)) return failure(*failed);
    const auto* got = std::get_if<Chunk>(&answer.reply);
    if (got == nullptr) return wrong_answer();
    if (got->size != size) {
        return Error{ErrorKind::kCorruption, "the artifact has " + std::to_string(got->size) + " bytes, not " +
                                                 std::to_string(size) + " as announced"};
    }
    if (got->offset != answer.offset || got->length != answer.length) return wrong_answer();
    TUNEFARM_ASSIGN(const std::string content, unpack_chunk(answer.attachment, got->codec, got->length));
    counters.bytes_in += content.size();
    return sink.append(content);
}

// ---- uploading ----

Status ArtifactClient::put_all(const std::vector<LocalArtifact>& artifacts) {
    std::vector<Digest> digests;
    std::set<Digest> seen;
    for (const LocalArtifact& artifact : artifacts) {
        if (seen.insert(artifact.digest).second) digests.push_back(artifact.digest);
    }
    impl_->channel.begin();
    std::set<Digest> missing;
    for (std::size_t at = 0; at < digests.size(); at += kMaxDigests) {
        const std::size_t end = std::min(at + kMaxDigests, digests.size());
        TUNEFARM_ASSIGN(const auto part, impl_->find_missing({digests.begin() + static_cast<std::ptrdiff_t>(at),
                                                              digests.begin() + static_cast<std::ptrdiff_t>(end)}));
        missing.insert(part.begin(), part.end());
    }
    std::vector<const LocalArtifact*> wanted;
    for (const LocalArtifact& artifact : artifacts) {
        if (missing.erase(artifact.digest) != 0) wanted.push_back(&artifact);
    }
    TUNEFARM_ASSIGN(const auto left, impl_->put_small(wanted));
    for (const LocalArtifact* artifact : left) {
        const Status put = impl_->put_one(*artifact);
        if (!put.ok()) return put.error().in(artifact->path.empty() ? artifact->digest.hex() : artifact->path);
    }
    return {};
}

Result<std::vector<Digest>> ArtifactClient::Impl::find_missing(const std::vector<Digest>& digests) {
    for (;;) {
        channel.forget();
        TUNEFARM_TRY(channel.send(FindMissing{0, digests}, 0, 0));
        TUNEFARM_ASSIGN(const auto answer, channel.receive());
        if (!answer) continue;
        channel.progress();
        if (const auto* failed = std::get_if<Failed>(&answer->reply)) return failure(*failed);
        const auto* reply = std::get_if<MissingReply>(&answer->reply);
        if (reply == nullptr) return wrong_answer();
        return reply->digests;
    }
}

Result<bool> ArtifactClient::Impl::send_chunk(const Digest& digest, const Source& source, std::uint64_t offset,
                                              std::uint32_t length) {
    TUNEFARM_ASSIGN(const std::string content, source.read(offset, length));
    Put put;
    put.digest = digest;
    put.size = source.size();
    put.offset = offset;
    put.length = length;
    const std::string packed = pack_chunk(content, channel.tcp(), put.codec);
    TUNEFARM_ASSIGN(const bool sent, channel.send(put, offset, length, packed));
    if (sent) counters.bytes_out += length;
    return sent;
}

/// Artifacts of one chunk go out back to back, a window of them in flight. Returns those that need put_one(): the large
/// ones, and whatever did not end with the first answer.
Result<std::vector<const LocalArtifact*>> ArtifactClient::Impl::put_small(
    const std::vector<const LocalArtifact*>& artifacts) {
    std::vector<const LocalArtifact*> left;
    std::vector<const LocalArtifact*> flying;  // the answer's "offset" is the position here
    std::vector<bool> done;
    channel.forget();
    const auto take_answer = [&]() -> Status {
        TUNEFARM_ASSIGN(const auto answer, channel.receive());
        if (!answer) return {};
        const auto* status = std::get_if<PutStatus>(&answer->reply);
        if (status != nullptr && status->complete) {
            done[answer->offset] = true;
            channel.progress();
        }
        return {};
    };
    for (const LocalArtifact* artifact : artifacts) {
        TUNEFARM_ASSIGN(const Source source, Source::open(*artifact));
        if (source.size() > chunk) {
            left.push_back(artifact);
            continue;
        }
        TUNEFARM_ASSIGN(const std::string content, source.read(0, static_cast<std::uint32_t>(source.size())));
        Put put;
        put.digest = artifact->digest;
        put.size = content.size();
        put.length = static_cast<std::uint32_t>(content.size());
        const std::string packed = pack_chunk(content, channel.tcp(), put.codec);
        while (channel.in_flight() >= window) TUNEFARM_TRY(take_answer());
        TUNEFARM_ASSIGN(const bool sent, channel.send(put, flying.size(), put.length, packed));
        if (!sent) {
            left.push_back(artifact);
            continue;
        }
        counters.bytes_out += put.length;
        flying.push_back(artifact);
        done.push_back(false);
    }
    while (channel.in_flight() > 0) TUNEFARM_TRY(take_answer());
    for (std::size_t i = 0; i < flying.size(); ++i) {
        if (!done[i]) left.push_back(flying[i]);
    }
    return left;
}

Status ArtifactClient::Impl::put_one(const LocalArtifact& artifact) {
    TUNEFARM_ASSIGN(const Source source, Source::open(artifact));
    channel.progress();
    std::optional<std::uint64_t> best;  // the server's greatest have() yet, whoever sent it
    for (int corruptions = 0;;) {
        const auto complete = put_session(artifact, source, best);
        if (complete.ok() && *complete) return {};
        if (complete.ok()) continue;
        if (complete.error().kind != ErrorKind::kCorruption || ++corruptions == kMaxCorruptions) {
            return complete.error();
        }
        best.reset();
    }
}

/// Asks where to go on and sends from there. False: the state became unknown (answers lost, or another peer took over);
/// begin again.
Result<bool> ArtifactClient::Impl::put_session(const LocalArtifact& artifact, const Source& source,
                                               std::optional<std::uint64_t>& best) {
    channel.forget();
    TUNEFARM_TRY(send_chunk(artifact.digest, source, 0, 0));
    std::uint64_t next = source.size();  // nothing is sent before the first answer
    bool first = true;
    for (;;) {
        while (!first && next < source.size() && channel.in_flight() < window) {
            const std::uint32_t length = length_at(next, source.size(), chunk);
            TUNEFARM_ASSIGN(const bool sent, send_chunk(artifact.digest, source, next, length));
            if (!sent) break;
            next += length;
        }
        TUNEFARM_ASSIGN(const auto answer, channel.receive());
        if (!answer) return false;
        if (const auto* failed = std::get_if<Failed>(&answer->reply)) return failure(*failed);
        const auto* status = std::get_if<PutStatus>(&answer->reply);
        if (status == nullptr) return wrong_answer();
        if (status->complete) return true;
        if (!best || status->have > *best) {
            best = status->have;
            channel.progress();
        }
        if (status->busy) {
            TUNEFARM_TRY(channel.pause(kBusyPause));
            return false;
        }
        if (first) {
            next = status->have;
        } else if (status->have < answer->offset + answer->length) {
            return false;  // an earlier chunk was lost
        }
        first = false;
    }
}

}  // namespace tunefarm::protocol
