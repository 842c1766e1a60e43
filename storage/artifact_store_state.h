// SPDX-License-Identifier: MIT
// What the parts of ArtifactStore share: the directory's layout and the object files.
#pragma once

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "base/files.h"
#include "storage/artifact_blobs.h"
#include "storage/artifact_frames.h"
#include "storage/artifact_store.h"

namespace tunefarm::storage {

/// A decompressed, verified artifact for read(): in memory, or above a size as an unlinked file.
struct OpenArtifact {
    Digest digest;
    std::int64_t size = 0;
    std::string content;
    UniqueFd file;
};

struct ArtifactStore::State {
    std::string dir;
    ArtifactStoreOptions options;
    FileSystem* files = nullptr;
    std::unique_ptr<Blobs> blobs;

    std::mutex cache_mutex;
    std::list<std::shared_ptr<const OpenArtifact>> cache;  // newest first

    /// Directories of objects/ that this process has seen to be durable.
    mutable std::array<std::atomic<bool>, 256> durable_directories{};

    std::string path(const char* name) const { return dir + "/" + name; }
    std::string object_directory(const Digest& digest) const { return dir + "/objects/" + digest.hex().substr(0, 2); }
    std::string object_path(const Digest& digest) const {
        const std::string hex = digest.hex();
        return dir + "/objects/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".zst";
    }
    /// A new name in tmp/, unique over threads and processes.
    std::string temporary() const;

    /// Held shared while an object is touched, exclusive while one is taken away: a put that finds an object there has
    /// either touched it before gc() looks, or sees that it is gone.
    Result<UniqueFd> lock(bool exclusive) const;

    /// True, and the object counts as put now, if it is there.
    Result<bool> touch_object(const Digest& digest) const;
    /// The same for rows and objects.
    Result<bool> touch(const Digest& digest);
    /// The object's directory exists and is durable itself.
    Status make_object_directory(const Digest& digest) const;
    /// A complete frame in the temporary file `from`, open and written as `fd`, becomes the object. Its directory is
    /// not synced yet.
    Status adopt_object(const Digest& digest, int fd, const std::string& from) const;
    Status write_object(const Digest& digest, std::string_view frame) const;
    /// The content of `fd` from its start; checks it against `expected` when that is set.
    Result<Digest> put_descriptor(int fd, const std::string& name, const Digest* expected);

    /// Streams the verified content; kNotFound. A corrupt artifact is taken away.
    Status stream(const Digest& digest, std::int64_t limit, const Sink& sink);
    Status stream_unchecked(const Digest& digest, std::int64_t limit, const Sink& sink) const;
    /// Moves what is corrupt of this artifact to corrupt/, after looking again under the lock.
    void quarantine(const Digest& digest);
    Result<std::shared_ptr<const OpenArtifact>> opened(const Digest& digest);
};

}  // namespace tunefarm::storage
