// SPDX-License-Identifier: MIT
#include "storage/artifact_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "base/log.h"
#include "storage/artifact_store_state.h"

namespace tunefarm::storage {

namespace {

/// Written last when a store is created: where it is, all directories are there and durable.
constexpr std::string_view kFormat = "tunefarm artifacts 1\n";
/// Decompressed files kept open for read(), beside what is cached in memory.
constexpr int kOpenFiles = 4;

Status create_layout(FileSystem& files, const std::string& dir) {
    TUNEFARM_TRY(files.make_directory(dir));
    for (const char* name : {"objects", "tmp", "incoming", "corrupt"}) {
        TUNEFARM_TRY(files.make_directory(dir + "/" + name));
    }
    const std::string format = dir + "/format";
    const std::string temporary = format + "." + std::to_string(::getpid());
    {
        TUNEFARM_ASSIGN(const UniqueFd fd, files.open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0644));
        TUNEFARM_TRY(files.write(fd.get(), kFormat));
        TUNEFARM_TRY(files.sync(fd.get()));
    }
    TUNEFARM_TRY(files.rename(temporary, format));
    TUNEFARM_TRY(files.sync_directory(dir));
    const std::string parent = std::filesystem::path(dir).parent_path().string();
    return files.sync_directory(parent.empty() ? "." : parent);
}

/// A blob database that SQLite refuses cannot be trusted row by row: everything in it is made again.
Status set_aside(const std::string& dir) {
    const std::string stamp = std::to_string(wall_seconds());
    for (const char* suffix : {"", "-wal", "-shm"}) {
        const std::string name = std::string("artifacts.db") + suffix;
        const std::string from = dir + "/" + name;
        const std::string to = dir + "/corrupt/" + stamp + "." + name;
        if (::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT) return errno_error(from);
    }
    log::warning(dir + "/artifacts.db is corrupt; it was moved to corrupt/ and its artifacts count as missing");
    return {};
}

}  // namespace

ArtifactStore::ArtifactStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ArtifactStore::~ArtifactStore() = default;

Result<std::unique_ptr<ArtifactStore>> ArtifactStore::open(const std::string& dir,
                                                           const ArtifactStoreOptions& options) {
    auto state = std::make_unique<State>();
    state->dir = dir;
    while (state->dir.size() > 1 && state->dir.back() == '/') state->dir.pop_back();
    state->options = options;
    state->files = options.files != nullptr ? options.files : &FileSystem::real();
    Result<std::string> format = read_file(state->path("format"), 256);
    if (!format.ok()) {
        if (format.error().kind != ErrorKind::kNotFound) return format.error();
        TUNEFARM_TRY(create_layout(*state->files, state->dir));
    } else if (*format != kFormat) {
        return Error{ErrorKind::kUnsupported, state->path("format") + ": is not a layout that this build knows"};
    }
    TUNEFARM_ASSIGN(const UniqueFd held, state->lock(true));
    Result<std::unique_ptr<Blobs>> blobs = Blobs::open(state->path("artifacts.db"), options.vfs);
    if (!blobs.ok() && blobs.error().kind == ErrorKind::kCorruption) {
        TUNEFARM_TRY(set_aside(state->dir));
        blobs = Blobs::open(state->path("artifacts.db"), options.vfs);
    }
    if (!blobs.ok()) return blobs.error();
    state->blobs = std::move(blobs).value();
    return std::unique_ptr<ArtifactStore>(new ArtifactStore(std::move(state)));
}

Result<Digest> ArtifactStore::put(std::string_view content) {
    TUNEFARM_ASSIGN(std::vector<Digest> digests, put_many({content}));
    return digests.front();
}

Result<std::vector<Digest>> ArtifactStore::put_many(const std::vector<std::string_view>& contents) {
    State& s = *state_;
    std::vector<Digest> digests;
    std::set<Digest> seen;
    std::set<std::string> directories;
    std::vector<BlobRow> rows;
    for (const std::string_view content : contents) {
        const auto size = static_cast<std::int64_t>(content.size());
        if (size > s.options.max_size) {
            return Error{ErrorKind::kInput, "an artifact of " + std::to_string(size) + " bytes; the limit is " +
                                                std::to_string(s.options.max_size)};
        }
        const Digest digest = sha256(content);
        digests.push_back(digest);
        if (!seen.insert(digest).second) continue;
        TUNEFARM_ASSIGN(const bool there, s.touch(digest));
        if (there) {
            // The process that renamed it may not have synced its directory yet.
            if (::access(s.object_path(digest).c_str(), F_OK) == 0) directories.insert(s.object_directory(digest));
            continue;
        }
        TUNEFARM_ASSIGN(std::string frame, compress_frame(content, s.options.compression_level));
        if (static_cast<std::int64_t>(frame.size()) < s.options.blob_threshold) {
            rows.push_back(BlobRow{digest, size, std::move(frame)});
        } else {
            TUNEFARM_TRY(s.write_object(digest, frame));
            directories.insert(s.object_directory(digest));
        }
    }
    for (const std::string& directory : directories) TUNEFARM_TRY(s.files->sync_directory(directory));
    if (!rows.empty()) TUNEFARM_TRY(s.blobs->put(std::move(rows)));
    return digests;
}

Result<Digest> ArtifactStore::put_file(const std::string& path) {
    TUNEFARM_ASSIGN(const UniqueFd fd, state_->files->open(path, O_RDONLY | O_NONBLOCK, 0));
    return state_->put_descriptor(fd.get(), path, nullptr);
}

Result<bool> ArtifactStore::contains(const Digest& digest) {
    TUNEFARM_ASSIGN(const std::optional<BlobInfo> row, state_->blobs->find(digest));
    if (row) return true;
    if (::access(state_->object_path(digest).c_str(), F_OK) == 0) return true;
    if (errno == ENOENT) return false;
    return errno_error(state_->object_path(digest));
}

Result<std::vector<Digest>> ArtifactStore::missing(const std::vector<Digest>& digests) {
    std::vector<Digest> absent;
    std::set<Digest> seen;
    for (const Digest& digest : digests) {
        if (!seen.insert(digest).second) continue;
        TUNEFARM_ASSIGN(const bool there, contains(digest));
        if (!there) absent.push_back(digest);
    }
    return absent;
}

Result<std::int64_t> ArtifactStore::size(const Digest& digest) {
    TUNEFARM_ASSIGN(const std::optional<BlobInfo> row, state_->blobs->find(digest));
    if (row) return row->size;
    const Result<UniqueFd> fd = state_->files->open(state_->object_path(digest), O_RDONLY, 0);
    if (!fd.ok()) return fd.error().in("artifact " + digest.hex());
    std::string head(32, '\0');
    TUNEFARM_ASSIGN(const std::size_t n, source_of(fd->get())(head.data(), head.size()));
    Result<std::int64_t> declared = declared_size(std::string_view(head).substr(0, n));
    if (!declared.ok()) state_->quarantine(digest);
    return declared;
}

Result<std::string> ArtifactStore::get(const Digest& digest, std::int64_t limit) {
    std::string content;
    TUNEFARM_TRY(state_->stream(digest, std::min(limit, state_->options.max_size), [&](std::string_view bytes) {
        content += bytes;
        return Status();
    }));
    return content;
}

Status ArtifactStore::copy_to(const Digest& digest, const std::string& path, mode_t mode) {
    State& s = *state_;
    static std::atomic<std::uint64_t> counter{0};
    const std::string part = path + ".part." + std::to_string(::getpid()) + "." + std::to_string(counter.fetch_add(1));
    TUNEFARM_ASSIGN(const UniqueFd fd, s.files->open(part, O_WRONLY | O_CREAT | O_EXCL, mode));
    Status done =
        s.stream(digest, s.options.max_size, [&](std::string_view bytes) { return s.files->write(fd.get(), bytes); });
    if (done.ok()) done = s.files->rename(part, path);
    if (!done.ok()) TUNEFARM_TRY(s.files->unlink(part));
    return done;
}

Result<std::shared_ptr<const OpenArtifact>> ArtifactStore::State::opened(const Digest& digest) {
    {
        const std::lock_guard guard(cache_mutex);
        for (auto it = cache.begin(); it != cache.end(); ++it) {
            if ((*it)->digest != digest) continue;
            cache.splice(cache.begin(), cache, it);
            return cache.front();
        }
    }
    auto artifact = std::make_shared<OpenArtifact>();
    artifact->digest = digest;
    // In memory as long as it is small beside the cache; then it goes on in a file without a name.
    const std::int64_t in_memory = options.read_cache_bytes / 2;
    const Sink keep = [&](std::string_view bytes) -> Status {
        artifact->size += static_cast<std::int64_t>(bytes.size());
        if (!artifact->file.valid()) {
            artifact->content += bytes;
            if (artifact->size <= in_memory) return {};
            const std::string name = temporary();
            TUNEFARM_ASSIGN(artifact->file, files->open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
            TUNEFARM_TRY(files->unlink(name));
            TUNEFARM_TRY(files->write(artifact->file.get(), artifact->content));
            artifact->content = {};
            return {};
        }
        return files->write(artifact->file.get(), bytes);
    };
    TUNEFARM_TRY(stream(digest, options.max_size, keep));
    const std::lock_guard guard(cache_mutex);
    cache.push_front(artifact);
    std::int64_t bytes = 0;
    int open_files = 0;
    for (auto it = cache.begin(); it != cache.end();) {
        bytes += static_cast<std::int64_t>((*it)->content.size());
        open_files += (*it)->file.valid() ? 1 : 0;
        const bool stays = it == cache.begin() || (bytes <= options.read_cache_bytes && open_files <= kOpenFiles);
        it = stays ? std::next(it) : cache.erase(it);
    }
    return std::shared_ptr<const OpenArtifact>(std::move(artifact));
}

Result<std::string> ArtifactStore::read(const Digest& digest, std::int64_t offset, std::int64_t length) {
    TUNEFARM_ASSIGN(const std::shared_ptr<const OpenArtifact> artifact, state_->opened(digest));
    if (offset < 0 || length < 0 || offset > artifact->size) {
        return Error{ErrorKind::kInput, "artifact " + digest.hex() + ": offset " + std::to_string(offset) +
                                            " is outside its " + std::to_string(artifact->size) + " bytes"};
    }
    const auto count = static_cast<std::size_t>(std::min(length, artifact->size - offset));
    if (!artifact->file.valid()) return artifact->content.substr(static_cast<std::size_t>(offset), count);
    std::string bytes(count, '\0');
    std::size_t done = 0;
    while (done < count) {
        const ssize_t n = ::pread(artifact->file.get(), bytes.data() + done, count - done,
                                  static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error("artifact " + digest.hex());
        if (n == 0) return Error{ErrorKind::kIo, "artifact " + digest.hex() + ": its temporary file was cut"};
        done += static_cast<std::size_t>(n);
    }
    return bytes;
}

}  // namespace tunefarm::storage
