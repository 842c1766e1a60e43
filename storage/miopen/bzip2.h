// SPDX-License-Identifier: MIT
// Whole bzip2 streams in memory: kernel blobs, and the databases of upstream's source tree. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tunefarm::miopen {

/// "BZh" and the level: what a bzip2 file starts with.
bool is_bzip2(std::string_view bytes);

/// The content of all streams of `compressed`, which follow each other. kCorruption, with the offset, when it is cut
/// off or damaged or something else follows; kInput when more than `limit` bytes come out (no bomb fills the memory).
Result<std::string> bzip2_decompress(std::string_view compressed, std::int64_t limit);

/// One stream at level 9, as upstream compresses: equal bytes in, equal bytes out.
Result<std::string> bzip2_compress(std::string_view bytes);

}  // namespace tunefarm::miopen
