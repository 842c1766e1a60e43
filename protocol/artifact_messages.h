// SPDX-License-Identifier: MIT
// What crosses the artifact socket, as plain values. Content travels beside the message, as the raw second frame.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace tunefarm::protocol {

/// How the second frame holds its content. The values are sent: append only.
enum class ChunkCodec : std::uint8_t { kRaw = 0, kZstd = 1 };

// ---- client → server; every request has one answer, which repeats `request` ----

/// Answer: Chunk, NotFound or Failed.
struct Get {
    std::uint64_t request = 0;
    Digest digest;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    bool accept_zstd = false;
    bool operator==(const Get&) const = default;
};

/// Answer: Missing or Failed.
struct FindMissing {
    std::uint64_t request = 0;
    std::vector<Digest> digests;
    bool operator==(const FindMissing&) const = default;
};

/// `length` bytes of content at `offset`; length 0 only asks for the state. Answer: PutStatus or Failed.
struct Put {
    std::uint64_t request = 0;
    Digest digest;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;  ///< before compression
    ChunkCodec codec = ChunkCodec::kRaw;
    bool operator==(const Put&) const = default;
};

// ---- server → client ----

struct Chunk {
    std::uint64_t request = 0;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;    ///< of the whole artifact
    std::uint32_t length = 0;  ///< before compression; less than asked only at the end
    ChunkCodec codec = ChunkCodec::kRaw;
    bool operator==(const Chunk&) const = default;
};

/// Which of the asked digests the server does not hold, in the order asked.
struct MissingReply {
    std::uint64_t request = 0;
    std::vector<Digest> digests;
    bool operator==(const MissingReply&) const = default;
};

/// `have` bytes from the beginning are stored, all of them durably if `complete`. `busy`: another peer is sending this
/// artifact; ask again a little later.
struct PutStatus {
    std::uint64_t request = 0;
    std::uint64_t have = 0;
    bool complete = false;
    bool busy = false;
    bool operator==(const PutStatus&) const = default;
};

struct NotFound {
    std::uint64_t request = 0;
    bool operator==(const NotFound&) const = default;
};

struct Failed {
    std::uint64_t request = 0;
    ErrorKind kind = ErrorKind::kInternal;
    std::string message;
    bool operator==(const Failed&) const = default;
};

using ArtifactRequest = std::variant<Get, FindMissing, Put>;
using ArtifactReply = std::variant<Chunk, MissingReply, PutStatus, NotFound, Failed>;

/// As in codec.h; kUnsupported for an unknown union tag.
std::string encode(const ArtifactRequest& message);
std::string encode(const ArtifactReply& message);
Result<ArtifactRequest> decode_artifact_request(std::string_view frame);
Result<ArtifactReply> decode_artifact_reply(std::string_view frame);

/// The second frame for `content`, compressed if that makes it smaller; `codec` says which.
std::string pack_chunk(std::string_view content, bool allow_zstd, ChunkCodec& codec);
/// The content of a second frame; kCorruption unless it has exactly `length` (at most kMaxChunk) bytes.
Result<std::string> unpack_chunk(std::string_view frame, ChunkCodec codec, std::uint32_t length);

}  // namespace tunefarm::protocol
