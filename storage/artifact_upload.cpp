// SPDX-License-Identifier: MIT
// Partial artifacts in incoming/: `<digest>.<n>.part` holds the uncompressed bytes from offset 0. Whoever has the
// file's lock writes it, so several uploads of one artifact take different n.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "storage/artifact_store_state.h"

namespace tunefarm::storage {

namespace {

constexpr int kMaxParallelUploads = 1000;

}  // namespace

struct Upload::State {
    ArtifactStore::State* store = nullptr;
    Digest digest;
    std::int64_t size = 0;
    std::int64_t have = 0;
    std::string path;
    UniqueFd fd;  // not valid: the artifact is in the store
};

Upload::Upload(std::unique_ptr<State> state) : state_(std::move(state)) {}
Upload::Upload(Upload&&) noexcept = default;
Upload& Upload::operator=(Upload&&) noexcept = default;
Upload::~Upload() = default;

std::int64_t Upload::have() const {
    return state_->have;
}

std::int64_t Upload::size() const {
    return state_->size;
}

Status Upload::write(std::int64_t offset, std::string_view bytes) {
    State& s = *state_;
    const auto length = static_cast<std::int64_t>(bytes.size());
    if (offset < 0 || offset > s.have || length > s.size - offset) {
        return Error{ErrorKind::kInput, "upload of " + s.digest.hex() + ": bytes " + std::to_string(offset) + "+" +
                                            std::to_string(length) + " do not follow the " + std::to_string(s.have) +
                                            " of " + std::to_string(s.size) + " that are here"};
    }
    const std::int64_t known = s.have - offset;
    if (length <= known) return {};
    bytes.remove_prefix(static_cast<std::size_t>(known));
    const Status written = s.store->files->write(s.fd.get(), bytes);
    if (!written.ok()) {
        // A part of the chunk may be in the file: go back to what is known, so that the next write is in its place.
        if (::ftruncate(s.fd.get(), s.have) != 0 || ::lseek(s.fd.get(), s.have, SEEK_SET) < 0) {
            return errno_error(s.path);
        }
        return written.error().in(s.path);
    }
    s.have = offset + length;
    return {};
}

Status Upload::commit() {
    State& s = *state_;
    if (s.have != s.size) {
        return Error{ErrorKind::kInput, "upload of " + s.digest.hex() + ": " + std::to_string(s.have) + " of " +
                                            std::to_string(s.size) + " bytes are here"};
    }
    if (!s.fd.valid()) return {};
    const Result<Digest> stored = s.store->put_descriptor(s.fd.get(), s.path, &s.digest);
    if (!stored.ok()) {
        if (stored.error().kind == ErrorKind::kCorruption) {
            s.have = 0;
            if (::ftruncate(s.fd.get(), 0) != 0) return errno_error(s.path);
        }
        if (::lseek(s.fd.get(), s.have, SEEK_SET) < 0) return errno_error(s.path);
        return stored.error();
    }
    TUNEFARM_TRY(s.store->files->unlink(s.path));
    s.fd.reset();
    return {};
}

Result<Upload> ArtifactStore::begin_upload(const Digest& digest, std::int64_t size) {
    State& store = *state_;
    if (size < 0 || size > store.options.max_size) {
        return Error{ErrorKind::kInput, "upload of " + digest.hex() + ": " + std::to_string(size) +
                                            " bytes; the limit is " + std::to_string(store.options.max_size)};
    }
    auto upload = std::make_unique<Upload::State>();
    upload->store = &store;
    upload->digest = digest;
    upload->size = size;
    TUNEFARM_ASSIGN(const bool there, contains(digest));
    if (there) {
        upload->have = size;
        return Upload(std::move(upload));
    }
    for (int n = 0; n < kMaxParallelUploads; ++n) {
        upload->path = store.path("incoming/") + digest.hex() + "." + std::to_string(n) + ".part";
        TUNEFARM_ASSIGN(upload->fd, store.files->open(upload->path, O_RDWR | O_CREAT, 0644));
        if (::flock(upload->fd.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno == EWOULDBLOCK || errno == EINTR) continue;
            return errno_error(upload->path);
        }
        struct stat opened{};
        struct stat named{};
        if (::fstat(upload->fd.get(), &opened) != 0) return errno_error(upload->path);
        // Its last owner may have committed and unlinked it while we waited for nothing but luck.
        if (::stat(upload->path.c_str(), &named) != 0 || named.st_ino != opened.st_ino) continue;
        upload->have = opened.st_size;
        if (upload->have > size) {
            upload->have = 0;
            if (::ftruncate(upload->fd.get(), 0) != 0) return errno_error(upload->path);
        }
        if (::lseek(upload->fd.get(), upload->have, SEEK_SET) < 0) return errno_error(upload->path);
        return Upload(std::move(upload));
    }
    return Error{ErrorKind::kUnavailable, "upload of " + digest.hex() + ": too many at the same time"};
}

}  // namespace tunefarm::storage
