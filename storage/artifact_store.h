// SPDX-License-Identifier: MIT
// Immutable bytes named by their SHA-256, in one directory. Small ones are rows of a SQLite file, large ones are files;
// both are zstd frames. The layout and the measured threshold are in docs/storage.md.
//
// Durability: when put*, or Upload::commit, returns a digest, the artifact survives power loss.
// Integrity: get, copy_to and read verify the whole content against its name. A mismatch is kCorruption, and from then
// on the artifact is missing (its bytes move to corrupt/), so that it is made again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/file_system.h"

namespace tunefarm::storage {

struct ArtifactStoreOptions {
    /// Compressed artifacts of fewer bytes than this become rows of artifacts.db.
    std::int64_t blob_threshold = 64 << 10;
    /// Larger artifacts are refused (kInput) when written and when read.
    std::int64_t max_size = 4LL << 30;
    /// Decompressed artifacts kept for read(); at least the last one is kept.
    std::int64_t read_cache_bytes = 64LL << 20;
    int compression_level = 1;
    FileSystem* files = nullptr;  ///< not owned; null: FileSystem::real()
    std::string vfs;              ///< SQLite VFS of artifacts.db, empty: the default one
};

struct ArtifactEntry {
    Digest digest;
    std::int64_t size = 0;    ///< uncompressed
    std::int64_t stored = 0;  ///< on disk
    bool blob = false;
};

struct GcOptions {
    bool dry_run = false;
    /// Younger artifacts, and those that were put again within it, are kept: their rows may not be committed yet.
    Micros grace{3'600'000'000};
};

struct GcTotals {
    std::int64_t kept = 0;
    std::int64_t kept_bytes = 0;  ///< on disk
    std::int64_t removed = 0;     ///< would be removed, in a dry run
    std::int64_t removed_bytes = 0;
    std::int64_t stale_uploads = 0;  ///< abandoned files of incoming/ and tmp/
};

/// A partial artifact that survives restarts of either side. Not thread-safe; several uploads of one digest may run at
/// the same time, each on its own. Destroying it keeps what was written for a later begin_upload().
class Upload {
  public:
    ~Upload();
    Upload(Upload&&) noexcept;
    Upload& operator=(Upload&&) noexcept;

    /// Contiguous bytes from offset 0 that are here; the sender goes on from there.
    std::int64_t have() const;
    std::int64_t size() const;
    /// `offset` <= have(): bytes that are already here are skipped, not compared. Beyond have() or size(): kInput.
    Status write(std::int64_t offset, std::string_view bytes);
    /// have() == size() and the digest matches: the artifact is in the store. kInput when bytes are missing.
    /// kCorruption: the content is not what the name says; the partial file is dropped, have() is 0 again.
    Status commit();

  private:
    friend class ArtifactStore;
    struct State;
    explicit Upload(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Thread-safe. Several processes may have one directory open.
class ArtifactStore {
  public:
    /// Creates the directory's layout when it is missing.
    static Result<std::unique_ptr<ArtifactStore>> open(const std::string& dir,
                                                       const ArtifactStoreOptions& options = {});
    ~ArtifactStore();
    ArtifactStore(const ArtifactStore&) = delete;
    ArtifactStore& operator=(const ArtifactStore&) = delete;

    /// An artifact that is there is not written again. Concurrent puts share their commits.
    Result<Digest> put(std::string_view content);
    /// One durable commit for all of them; the digests in the order of `contents`.
    Result<std::vector<Digest>> put_many(const std::vector<std::string_view>& contents);
    /// A regular file, streamed.
    Result<Digest> put_file(const std::string& path);

    Result<bool> contains(const Digest& digest);
    /// Those of `digests` that are not here, in their order, without duplicates.
    Result<std::vector<Digest>> missing(const std::vector<Digest>& digests);
    /// Uncompressed bytes. kNotFound.
    Result<std::int64_t> size(const Digest& digest);

    /// The verified content. kNotFound; kCorruption; kInput when it has more than `limit` bytes.
    Result<std::string> get(const Digest& digest, std::int64_t limit);
    /// Writes a plain file (mode 0644 or `mode`), complete and verified or not at all. Not synced: it is a working
    /// copy.
    Status copy_to(const Digest& digest, const std::string& path, mode_t mode = 0644);
    /// Bytes [offset, offset + length) of the content, fewer at its end; verified once, then from a small cache of
    /// whole artifacts.
    Result<std::string> read(const Digest& digest, std::int64_t offset, std::int64_t length);

    /// Opens or resumes a partial upload of `size` bytes. An artifact that is already here starts with have() == size
    /// and a commit that does nothing.
    Result<Upload> begin_upload(const Digest& digest, std::int64_t size);

    /// A missing artifact is fine.
    Status remove(const Digest& digest);
    /// By digest.
    Result<std::vector<ArtifactEntry>> list();
    /// Removes what `keep` does not want and abandoned partial files, all older than the grace.
    Result<GcTotals> gc(const std::function<bool(const Digest&)>& keep, const GcOptions& options = {});

  private:
    friend class Upload;
    struct State;
    explicit ArtifactStore(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tunefarm::storage
