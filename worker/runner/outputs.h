// SPDX-License-Identifier: MIT
// Files that a driver claims to have written are taken only from inside its private directory.
#pragma once

#include <string>

#include "base/files.h"
#include "base/result.h"

namespace tunefarm::worker {

/// Opens `relative` below `directory` for reading. kInput for an absolute path, a path with "..", a symbolic link in
/// any component, or something that is not a plain file. The descriptor stays the checked file whatever happens to
/// its name later.
Result<UniqueFd> open_output(const std::string& directory, const std::string& relative);

/// A relative path without empty, "." or ".." components, at most 1024 bytes.
bool is_plain_relative_path(const std::string& path);

}  // namespace tunefarm::worker
