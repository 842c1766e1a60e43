// SPDX-License-Identifier: MIT
// The stored form of an artifact: one zstd frame (RFC 8878) that declares the size of its content and needs a window of
// at most 8 MiB, so that reading never takes more memory than was declared and accepted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

namespace tunefarm::storage {

/// Fills `buffer` with up to `capacity` bytes; 0 at the end.
using Source = std::function<Result<std::size_t>(char* buffer, std::size_t capacity)>;
using Sink = std::function<Status(std::string_view bytes)>;

/// Reads the rest of a file.
Source source_of(int fd);
/// `bytes` must outlive the source.
Source source_of(std::string_view bytes);

/// Levels above 19 (larger windows) are lowered to 19.
Result<std::string> compress_frame(std::string_view content, int level);

/// Streams `source`, which must give exactly `size` bytes (else kInput: it changed meanwhile), into `sink`; the digest
/// of the uncompressed bytes.
Result<Digest> compress_frame(const Source& source, std::int64_t size, int level, const Sink& sink);

/// What the frame that starts with `head` (18 bytes suffice) declares; kCorruption when it is no such frame.
Result<std::int64_t> declared_size(std::string_view head);

/// Decompresses one whole frame into `sink` and checks its digest at the end: what `sink` got is valid only when the
/// result is ok. kInput when it declares more than `limit` bytes (nothing was written), kCorruption for anything else
/// that is wrong.
Status decompress_frame(const Source& source, const Digest& digest, std::int64_t limit, const Sink& sink);

}  // namespace tunefarm::storage
