// SPDX-License-Identifier: MIT
// Files that a driver claims to have written are taken only from inside its private directory.
#pragma once

#include <string>

#include "base/files.h"
#include "base/result.h"
#include "base/types.h"

namespace tunefarm::worker {

/// What the coordinator's store accepts. Also the largest file that a driver may write: one that was told to be larger
/// (a sparse file costs nothing) would keep its slot busy with hashing for hours.
inline constexpr Bytes kMaxOutput{std::int64_t{4} << 30};

/// Opens `relative` below `directory` for reading. kInput for an absolute path, a path with "..", a symbolic link in
/// any component, something that is not a plain file, or one of more than kMaxOutput bytes. The descriptor stays the
/// checked file whatever happens to its name later.
Result<UniqueFd> open_output(const std::string& directory, const std::string& relative);

/// A relative path without empty, "." or ".." components, at most 1024 bytes.
bool is_plain_relative_path(const std::string& path);

}  // namespace tunefarm::worker
