// SPDX-License-Identifier: MIT
#include "storage/artifact_blobs.h"

#include <ctime>
#include <utility>

namespace tunefarm::storage {

namespace {

/// `id` keeps the frames in the order of arrival: only the small index of digests is random.
constexpr const char* kSchema =
    "CREATE TABLE blob(id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, size INTEGER NOT NULL, "
    "touched_s INTEGER NOT NULL, frame BLOB NOT NULL) STRICT;"
    "PRAGMA user_version=1;";
/// Processes on one store wait for each other's commits.
constexpr std::int32_t kBusyTimeoutMs = 30'000;

Status rolled_back(Database& db, Status failed) {
    if (db.in_transaction()) {
        const Status ignored = db.execute("ROLLBACK");
        static_cast<void>(ignored);
    }
    return failed;
}

}  // namespace

std::int64_t wall_seconds() {
    return static_cast<std::int64_t>(std::time(nullptr));
}

Result<std::unique_ptr<Blobs>> Blobs::open(const std::string& path, const std::string& vfs) {
    DatabaseOptions options;
    options.application_id = kArtifactApplicationId;
    options.busy_timeout_ms = kBusyTimeoutMs;
    options.cache_kib = 32 * 1024;
    options.incremental_vacuum = true;
    options.vfs = vfs;
    TUNEFARM_ASSIGN(Database writer, Database::open_writable(path, options));
    TUNEFARM_TRY(writer.execute("BEGIN IMMEDIATE"));
    Result<std::int64_t> version = writer.query_integer("PRAGMA user_version");
    Status ready = version.ok() ? Status() : Status(version.error());
    if (ready.ok() && *version == 0) ready = writer.execute(kSchema);
    if (ready.ok() && *version > 1) {
        ready = Error{ErrorKind::kUnsupported, path + ": was written by a newer tunefarm: update tunefarm"};
    }
    if (ready.ok()) ready = writer.execute("COMMIT");
    if (!ready.ok()) return rolled_back(writer, std::move(ready)).error();
    TUNEFARM_ASSIGN(Database reader, Database::open_readonly(path, options));
    std::unique_ptr<Blobs> blobs(new Blobs(std::move(writer), std::move(reader)));
    TUNEFARM_TRY(blobs->prepare());
    return blobs;
}

Status Blobs::prepare() {
    TUNEFARM_ASSIGN(insert_, writer_.prepare("INSERT INTO blob(digest, size, touched_s, frame) VALUES(?1, ?2, ?3, ?4) "
                                             "ON CONFLICT(digest) DO UPDATE SET touched_s = excluded.touched_s"));
    TUNEFARM_ASSIGN(find_, reader_.prepare("SELECT size, length(frame), touched_s FROM blob WHERE digest = ?1"));
    TUNEFARM_ASSIGN(frame_, reader_.prepare("SELECT frame FROM blob WHERE digest = ?1"));
    return {};
}

Status Blobs::commit(const std::vector<Batch*>& batches) {
    const std::lock_guard guard(writer_mutex_);
    TUNEFARM_TRY(writer_.execute("BEGIN IMMEDIATE"));
    const std::int64_t now = wall_seconds();
    for (const Batch* batch : batches) {
        for (const BlobRow& row : batch->rows) {
            insert_.bind(1, row.digest).bind(2, row.size).bind(3, now).bind_blob(4, row.frame);
            Status inserted = insert_.run();
            if (!inserted.ok()) return rolled_back(writer_, std::move(inserted));
        }
    }
    Status done = writer_.execute("COMMIT");
    if (!done.ok()) return rolled_back(writer_, std::move(done));
    return done;
}

Status Blobs::put(std::vector<BlobRow> rows) {
    Batch mine;
    mine.rows = std::move(rows);
    std::unique_lock guard(queue_mutex_);
    queue_.push_back(&mine);
    while (!mine.done) {
        if (committing_) {
            committed_.wait(guard);
            continue;
        }
        committing_ = true;
        const std::vector<Batch*> batches = std::exchange(queue_, {});
        guard.unlock();
        const Status status = commit(batches);
        guard.lock();
        committing_ = false;
        for (Batch* batch : batches) {
            batch->status = status;
            batch->done = true;
        }
        committed_.notify_all();
    }
    return mine.status;
}

Result<std::optional<BlobInfo>> Blobs::find(const Digest& digest) {
    const std::lock_guard guard(reader_mutex_);
    find_.bind(1, digest);
    TUNEFARM_ASSIGN(const bool row, find_.step());
    if (!row) return std::optional<BlobInfo>{};
    const BlobInfo info{digest, find_.integer(0), find_.integer(1), find_.integer(2)};
    find_.reset();
    return std::optional<BlobInfo>{info};
}

Result<std::optional<std::string>> Blobs::frame(const Digest& digest) {
    const std::lock_guard guard(reader_mutex_);
    frame_.bind(1, digest);
    TUNEFARM_ASSIGN(const bool row, frame_.step());
    if (!row) return std::optional<std::string>{};
    std::string bytes(frame_.blob(0));
    frame_.reset();
    return std::optional<std::string>{std::move(bytes)};
}

Result<bool> Blobs::remove(const Digest& digest, std::optional<std::int64_t> before_s) {
    const std::lock_guard guard(writer_mutex_);
    TUNEFARM_ASSIGN(
        Statement statement,
        writer_.prepare("DELETE FROM blob WHERE digest = ?1 AND (?2 IS NULL OR touched_s < ?2) RETURNING 1"));
    statement.bind(1, digest);
    if (before_s) statement.bind(2, *before_s);
    TUNEFARM_ASSIGN(const bool removed, statement.step());
    if (removed) TUNEFARM_TRY(statement.run());
    return removed;
}

Result<std::vector<BlobInfo>> Blobs::list() {
    const std::lock_guard guard(reader_mutex_);
    TUNEFARM_ASSIGN(Statement statement,
                    reader_.prepare("SELECT digest, size, length(frame), touched_s FROM blob ORDER BY digest"));
    std::vector<BlobInfo> all;
    while (true) {
        TUNEFARM_ASSIGN(const bool row, statement.step());
        if (!row) return all;
        all.push_back(BlobInfo{statement.digest(0), statement.integer(1), statement.integer(2), statement.integer(3)});
    }
}

Status Blobs::shrink() {
    const std::lock_guard guard(writer_mutex_);
    TUNEFARM_TRY(writer_.execute("PRAGMA incremental_vacuum"));
    return writer_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace tunefarm::storage
