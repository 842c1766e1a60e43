// SPDX-License-Identifier: MIT
// Large artifacts as files, and what is common to both forms: touching, streaming, quarantine.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "storage/artifact_store_state.h"

namespace tunefarm::storage {

namespace {

/// A row that is put again within this time keeps its touched_s: repeated puts of one artifact must not write each
/// time. Much shorter than the grace of gc().
constexpr std::int64_t kTouchSeconds = 600;

}  // namespace

std::string ArtifactStore::State::temporary() const {
    static std::atomic<std::uint64_t> counter{0};
    return path("tmp/") + std::to_string(::getpid()) + "." + std::to_string(wall_seconds()) + "." +
           std::to_string(counter.fetch_add(1));
}

Result<UniqueFd> ArtifactStore::State::lock(bool exclusive) const {
    // A descriptor of its own for each holder: flock excludes descriptors, so also threads.
    UniqueFd fd(::open(path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd.valid()) return errno_error(path("lock"));
    while (::flock(fd.get(), exclusive ? LOCK_EX : LOCK_SH) != 0) {
        if (errno != EINTR) return errno_error(path("lock"));
    }
    return fd;
}

Result<bool> ArtifactStore::State::touch_object(const Digest& digest) const {
    const std::string object = object_path(digest);
    if (::access(object.c_str(), F_OK) != 0) return false;
    TUNEFARM_ASSIGN(const UniqueFd held, lock(false));
    if (::utimensat(AT_FDCWD, object.c_str(), nullptr, 0) == 0) return true;
    if (errno == ENOENT) return false;
    return errno_error(object);
}

Result<bool> ArtifactStore::State::touch(const Digest& digest) {
    TUNEFARM_ASSIGN(const std::optional<BlobInfo> row, blobs->find(digest));
    if (!row) return touch_object(digest);
    // An old row is written again by the caller, which touches it and is safe against a gc() in between.
    return row->touched_s > wall_seconds() - kTouchSeconds;
}

Status ArtifactStore::State::make_object_directory(const Digest& digest) const {
    std::atomic<bool>& durable = durable_directories[digest.bytes[0]];
    if (durable) return {};
    const std::string directory = object_directory(digest);
    TUNEFARM_TRY(files->make_directory(directory));
    // Also when it was there: the process that made it may not have come to this line.
    TUNEFARM_TRY(files->sync_directory(path("objects")));
    durable = true;
    return {};
}

Status ArtifactStore::State::adopt_object(const Digest& digest, int fd, const std::string& from) const {
    Status done = make_object_directory(digest);
    if (done.ok()) done = files->sync(fd);
    if (done.ok()) done = files->rename(from, object_path(digest));
    if (!done.ok()) {
        const Status ignored = files->unlink(from);
        static_cast<void>(ignored);
    }
    return done;
}

Status ArtifactStore::State::write_object(const Digest& digest, std::string_view frame) const {
    const std::string name = temporary();
    TUNEFARM_ASSIGN(const UniqueFd fd, files->open(name, O_WRONLY | O_CREAT | O_EXCL, 0644));
    const Status written = files->write(fd.get(), frame);
    if (!written.ok()) {
        const Status ignored = files->unlink(name);
        static_cast<void>(ignored);
        return written.error().in(name);
    }
    return adopt_object(digest, fd.get(), name);
}

Result<Digest> ArtifactStore::State::put_descriptor(int fd, const std::string& name, const Digest* expected) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) return errno_error(name);
    if (!S_ISREG(info.st_mode)) return Error{ErrorKind::kInput, name + ": is not a regular file"};
    if (info.st_size > options.max_size) {
        return Error{ErrorKind::kInput, name + ": has " + std::to_string(info.st_size) + " bytes; the limit is " +
                                            std::to_string(options.max_size)};
    }
    if (::lseek(fd, 0, SEEK_SET) != 0) return errno_error(name);
    const std::string packed_name = temporary();
    TUNEFARM_ASSIGN(const UniqueFd packed, files->open(packed_name, O_RDWR | O_CREAT | O_EXCL, 0644));
    // Small frames never reach the disk as files.
    std::string head;
    bool spilled = false;
    const Sink sink = [&](std::string_view bytes) -> Status {
        if (!spilled && static_cast<std::int64_t>(head.size() + bytes.size()) < options.blob_threshold) {
            head += bytes;
            return {};
        }
        if (!spilled) TUNEFARM_TRY(files->write(packed.get(), head));
        spilled = true;
        return files->write(packed.get(), bytes);
    };
    Result<Digest> digest = compress_frame(source_of(fd), info.st_size, options.compression_level, sink);
    if (digest.ok() && expected != nullptr && *digest != *expected) {
        digest = Error{ErrorKind::kCorruption,
                       name + ": its content has the digest " + digest->hex() + ", not " + expected->hex()};
    }
    if (!digest.ok() || !spilled) {
        TUNEFARM_TRY(files->unlink(packed_name));
        if (!digest.ok()) return digest.error().in(name);
        std::vector<BlobRow> rows;
        rows.push_back(BlobRow{*digest, info.st_size, std::move(head)});
        TUNEFARM_TRY(blobs->put(std::move(rows)));
        return digest;
    }
    TUNEFARM_TRY(adopt_object(*digest, packed.get(), packed_name));
    TUNEFARM_TRY(files->sync_directory(object_directory(*digest)));
    return digest;
}

Status ArtifactStore::State::stream_unchecked(const Digest& digest, std::int64_t limit, const Sink& sink) const {
    TUNEFARM_ASSIGN(const std::optional<std::string> frame, blobs->frame(digest));
    if (frame) return decompress_frame(source_of(std::string_view(*frame)), digest, limit, sink);
    const Result<UniqueFd> fd = files->open(object_path(digest), O_RDONLY, 0);
    if (!fd.ok()) {
        if (fd.error().kind == ErrorKind::kNotFound) {
            return Error{ErrorKind::kNotFound, "artifact " + digest.hex() + " is not in " + dir};
        }
        return fd.error();
    }
    return decompress_frame(source_of(fd->get()), digest, limit, sink);
}

Status ArtifactStore::State::stream(const Digest& digest, std::int64_t limit, const Sink& sink) {
    Status done = stream_unchecked(digest, limit, sink);
    if (!done.ok() && done.error().kind == ErrorKind::kCorruption) {
        quarantine(digest);
        return done.error().in("artifact " + digest.hex());
    }
    return done;
}

void ArtifactStore::State::quarantine(const Digest& digest) {
    const Result<UniqueFd> held = lock(true);
    if (!held.ok()) return;
    // Somebody else may have taken it away, and a third one put it again, since it was read.
    const Status again = stream_unchecked(digest, options.max_size, [](std::string_view) { return Status(); });
    if (again.ok() || again.error().kind != ErrorKind::kCorruption) return;
    const std::string kept = path("corrupt/") + digest.hex() + ".zst";
    const Result<std::optional<std::string>> frame = blobs->frame(digest);
    Status moved;
    if (frame.ok() && *frame) {
        const Status copied = write_file_atomically(kept, **frame);
        static_cast<void>(copied);  // the copy is for people
        const Result<bool> removed = blobs->remove(digest);
        if (!removed.ok()) moved = removed.error();
    } else {
        moved = files->rename(object_path(digest), kept);
    }
    log::warning("artifact " + digest.hex() + " is corrupt and counts as missing; its bytes are in " + kept +
                 (moved.ok() ? "" : " (not moved: " + moved.error().message + ")"));
}

}  // namespace tunefarm::storage
