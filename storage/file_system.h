// SPDX-License-Identifier: MIT
// The file operations of the artifact store, as a seam: tests inject one that fails, fills up, or forgets what was not
// synced. (The store's blob database has SQLite's own seam, the VFS.)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace tunefarm::storage {

/// Thread-safe.
class FileSystem {
  public:
    virtual ~FileSystem() = default;

    /// open(2) with O_CLOEXEC added.
    virtual Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) = 0;
    /// All bytes, at the file position.
    virtual Status write(int fd, std::string_view bytes) = 0;
    virtual Status sync(int fd) = 0;
    virtual Status sync_directory(const std::string& path) = 0;
    /// mkdir -p; an existing directory is fine.
    virtual Status make_directory(const std::string& path) = 0;
    virtual Status rename(const std::string& from, const std::string& to) = 0;
    /// A missing file is fine.
    virtual Status unlink(const std::string& path) = 0;

    /// The operating system's.
    static FileSystem& real();
};

}  // namespace tunefarm::storage
