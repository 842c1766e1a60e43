// SPDX-License-Identifier: MIT
#include "protocol/artifact_messages.h"

#include <zstd.h>

#include <algorithm>

#include "protocol/limits.h"
#include "protocol/wire.h"

namespace tunefarm::protocol {
namespace {

using wire::data_of;
using wire::text_of;

constexpr int kChunkCodecs = 2;
/// Assembly text shrinks about 8× at level 1, which is faster than the links that artifacts travel on.
constexpr int kZstdLevel = 1;

std::uint32_t read_length(std::uint32_t length) {
    if (length > kMaxChunk) wire::refuse(ErrorKind::kCorruption, "length: larger than a chunk may be");
    return length;
}

template <typename List>
std::vector<Digest> read_digests(const List& list) {
    return wire::read_list(list, kMaxDigests, "digests",
                           [](capnp::Data::Reader data) { return wire::read_digest(data, "digest"); });
}

template <typename Builder>
void write_digests(Builder list, const std::vector<Digest>& digests) {
    for (unsigned i = 0; i < digests.size(); ++i) list.set(i, data_of(digests[i]));
}

unsigned count_of(const std::vector<Digest>& digests) {
    return static_cast<unsigned>(digests.size());
}

void write(wire::ArtifactRequest::Builder root, const Get& m) {
    auto out = root.initGet();
    out.setDigest(data_of(m.digest));
    out.setOffset(m.offset);
    out.setLength(m.length);
    out.setAcceptZstd(m.accept_zstd);
}

void write(wire::ArtifactRequest::Builder root, const FindMissing& m) {
    write_digests(root.initFindMissing(count_of(m.digests)), m.digests);
}

void write(wire::ArtifactRequest::Builder root, const Put& m) {
    auto out = root.initPut();
    out.setDigest(data_of(m.digest));
    out.setSize(m.size);
    out.setOffset(m.offset);
    out.setLength(m.length);
    out.setCodec(static_cast<wire::ChunkCodec>(m.codec));
}

void write(wire::ArtifactReply::Builder root, const Chunk& m) {
    auto out = root.initChunk();
    out.setOffset(m.offset);
    out.setSize(m.size);
    out.setLength(m.length);
    out.setCodec(static_cast<wire::ChunkCodec>(m.codec));
}

void write(wire::ArtifactReply::Builder root, const MissingReply& m) {
    write_digests(root.initMissing(count_of(m.digests)), m.digests);
}

void write(wire::ArtifactReply::Builder root, const PutStatus& m) {
    auto out = root.initPutStatus();
    out.setHave(m.have);
    out.setComplete(m.complete);
    out.setBusy(m.busy);
}

void write(wire::ArtifactReply::Builder root, const NotFound&) {
    root.setNotFound();
}

void write(wire::ArtifactReply::Builder root, const Failed& m) {
    auto out = root.initFailed();
    out.setKind(static_cast<wire::FailureKind>(m.kind));
    out.setMessage(text_of(wire::head_of(m.message, kMaxReason)));
}

template <typename Root, typename Message>
std::string encode_as(const Message& message) {
    capnp::MallocMessageBuilder builder;
    auto root = builder.initRoot<Root>();
    std::visit(
        [&](const auto& m) {
            root.setRequest(m.request);
            write(root, m);
        },
        message);
    return wire::to_frame(builder);
}

}  // namespace

std::string encode(const ArtifactRequest& message) {
    return encode_as<wire::ArtifactRequest>(message);
}

std::string encode(const ArtifactReply& message) {
    return encode_as<wire::ArtifactReply>(message);
}

Result<ArtifactRequest> decode_artifact_request(std::string_view frame) {
    ArtifactRequest out;
    const Status status = wire::with_message(frame, kMaxArtifactFrame, [&](capnp::MessageReader& reader) {
        const auto root = reader.getRoot<wire::ArtifactRequest>();
        const std::uint64_t request = root.getRequest();
        switch (root.which()) {
            case wire::ArtifactRequest::GET: {
                const auto in = root.getGet();
                out = Get{request, wire::read_digest(in.getDigest(), "digest"),
                          wire::read_size(in.getOffset(), "offset"), read_length(in.getLength()), in.getAcceptZstd()};
                return;
            }
            case wire::ArtifactRequest::FIND_MISSING:
                out = FindMissing{request, read_digests(root.getFindMissing())};
                return;
            case wire::ArtifactRequest::PUT: {
                const auto in = root.getPut();
                out = Put{request,
                          wire::read_digest(in.getDigest(), "digest"),
                          wire::read_size(in.getSize(), "size"),
                          wire::read_size(in.getOffset(), "offset"),
                          read_length(in.getLength()),
                          wire::read_enum<ChunkCodec>(in.getCodec(), kChunkCodecs, "codec")};
                return;
            }
        }
        wire::refuse(ErrorKind::kUnsupported, "unknown artifact request: upgrade the coordinator");
    });
    TUNEFARM_TRY(status);
    return out;
}

Result<ArtifactReply> decode_artifact_reply(std::string_view frame) {
    ArtifactReply out;
    const Status status = wire::with_message(frame, kMaxArtifactFrame, [&](capnp::MessageReader& reader) {
        const auto root = reader.getRoot<wire::ArtifactReply>();
        const std::uint64_t request = root.getRequest();
        switch (root.which()) {
            case wire::ArtifactReply::CHUNK: {
                const auto in = root.getChunk();
                out = Chunk{request, wire::read_size(in.getOffset(), "offset"), wire::read_size(in.getSize(), "size"),
                            read_length(in.getLength()),
                            wire::read_enum<ChunkCodec>(in.getCodec(), kChunkCodecs, "codec")};
                return;
            }
            case wire::ArtifactReply::MISSING: out = MissingReply{request, read_digests(root.getMissing())}; return;
            case wire::ArtifactReply::PUT_STATUS: {
                const auto in = root.getPutStatus();
                out = PutStatus{request, wire::read_size(in.getHave(), "have"), in.getComplete(), in.getBusy()};
                return;
            }
            case wire::ArtifactReply::NOT_FOUND: out = NotFound{request}; return;
            case wire::ArtifactReply::FAILED: {
                const auto in = root.getFailed();
                out = Failed{request, wire::read_enum<ErrorKind>(in.getKind(), wire::kErrorKinds, "kind"),
                             wire::read_text(in.getMessage(), kMaxReason, "message")};
                return;
            }
        }
        wire::refuse(ErrorKind::kUnsupported, "unknown artifact reply: upgrade this worker");
    });
    TUNEFARM_TRY(status);
    return out;
}

std::string pack_chunk(std::string_view content, bool allow_zstd, ChunkCodec& codec) {
    codec = ChunkCodec::kRaw;
    if (allow_zstd && content.size() > 64) {
        std::string packed(ZSTD_compressBound(content.size()), '\0');
        const std::size_t size =
            ZSTD_compress(packed.data(), packed.size(), content.data(), content.size(), kZstdLevel);
        if (ZSTD_isError(size) == 0 && size < content.size()) {
            packed.resize(size);
            codec = ChunkCodec::kZstd;
            return packed;
        }
    }
    return std::string(content);
}

Result<std::string> unpack_chunk(std::string_view frame, ChunkCodec codec, std::uint32_t length) {
    if (length > kMaxChunk) return Error{ErrorKind::kCorruption, "chunk: too long"};
    if (codec == ChunkCodec::kRaw) {
        if (frame.size() != length) return Error{ErrorKind::kCorruption, "chunk: not as long as it says"};
        return std::string(frame);
    }
    // One call with the exact room bounds the result and, since a single-shot frame needs no window, the memory.
    std::string content(length, '\0');
    const std::size_t size = ZSTD_decompress(content.data(), content.size(), frame.data(), frame.size());
    if (ZSTD_isError(size) != 0 || size != length) {
        return Error{ErrorKind::kCorruption, "chunk: does not decompress to what it says"};
    }
    return content;
}

}  // namespace tunefarm::protocol
