// SPDX-License-Identifier: MIT
// The worker's own copies of artifacts, named by digest, below a size limit (least recently used go first).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/digest.h"
#include "base/files.h"
#include "base/result.h"
#include "base/types.h"

namespace tunefarm::worker {

/// Thread-safe. A cache: nothing in it needs to survive, so nothing is fsynced. Files found at start, and files that
/// somebody has touched since, are checked against their digest before they are used.
class ContentStore {
  public:
    static Result<std::unique_ptr<ContentStore>> open(const std::string& directory, Bytes limit);

    /// Where the artifact is or will be.
    std::string path_of(const Digest& digest) const;
    /// True when the artifact is here and complete; it then stays until unpin().
    bool pin(const Digest& digest);
    void unpin(const Digest& digest);
    /// A pinned artifact is still what it was when it was pinned.
    bool intact(const Digest& digest);
    /// `path_of(digest)` has just been written, verified, by the caller. The artifact comes pinned.
    void added(const Digest& digest, std::uint64_t size);
    struct Stored {
        Digest digest;
        std::uint64_t size = 0;
    };
    /// Copies what `fd` holds from its beginning. The artifact comes pinned.
    Result<Stored> ingest(const UniqueFd& fd);

  private:
    ContentStore(std::string directory, Bytes limit) : directory_(std::move(directory)), limit_(limit) {}
    void evict();  // with mutex_ held

    /// What changes when somebody writes to a file or puts another one in its place.
    struct Stamp {
        std::uint64_t inode = 0;
        std::int64_t size = -1;  ///< -1: there is no such file
        std::int64_t modified_ns = 0;
        bool operator==(const Stamp&) const = default;
    };
    static Stamp stamp_of(const std::string& path);

    struct Entry {
        std::int64_t size = 0;
        int pins = 0;
        Stamp verified;  ///< of the file when its content was last known to be right
        std::uint64_t used = 0;
    };
    const std::string directory_;
    const Bytes limit_;
    std::mutex mutex_;
    std::map<Digest, Entry> entries_;
    std::int64_t total_ = 0;
    std::uint64_t uses_ = 0;
    std::uint64_t next_temporary_ = 0;
};

}  // namespace tunefarm::worker
