// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "storage/artifact_store_state.h"

namespace tunefarm::storage {

namespace {

/// A temporary file of a put lives for seconds, a partial upload until its worker is back.
constexpr std::int64_t kTemporarySeconds = 3600;
constexpr std::int64_t kUploadSeconds = 24 * 3600;
constexpr std::size_t kHexDigits = 64;

struct CloseDirectory {
    void operator()(DIR* dir) const { ::closedir(dir); }
};

Result<std::vector<std::string>> names_in(const std::string& path) {
    const std::unique_ptr<DIR, CloseDirectory> dir(::opendir(path.c_str()));
    if (dir == nullptr) return errno_error(path);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(dir.get())) {
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    std::sort(names.begin(), names.end());
    return names;
}

struct ObjectFile {
    Digest digest;
    std::string path;
    std::int64_t stored = 0;
    std::int64_t touched_s = 0;
};

Result<std::vector<ObjectFile>> object_files(const std::string& objects) {
    std::vector<ObjectFile> found;
    TUNEFARM_ASSIGN(const std::vector<std::string> directories, names_in(objects));
    for (const std::string& directory : directories) {
        TUNEFARM_ASSIGN(const std::vector<std::string> names, names_in(objects + "/" + directory));
        for (const std::string& name : names) {
            if (name.size() != kHexDigits - 2 + 4 || !name.ends_with(".zst")) continue;
            const std::optional<Digest> digest = Digest::from_hex(directory + name.substr(0, kHexDigits - 2));
            struct stat info{};
            const std::string path = objects + "/" + directory + "/" + name;
            if (!digest || ::stat(path.c_str(), &info) != 0) continue;
            found.push_back(ObjectFile{*digest, path, info.st_size, info.st_mtim.tv_sec});
        }
    }
    return found;
}

/// Removes plain files of `dir` that were last changed before `before_s` and that nobody has locked.
Result<std::int64_t> remove_stale(FileSystem& files, const std::string& dir, std::int64_t before_s, bool dry_run) {
    std::int64_t removed = 0;
    TUNEFARM_ASSIGN(const std::vector<std::string> names, names_in(dir));
    for (const std::string& name : names) {
        const std::string path = dir + "/" + name;
        const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat info{};
        if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || info.st_mtim.tv_sec >= before_s) continue;
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
        if (!dry_run) TUNEFARM_TRY(files.unlink(path));
        ++removed;
    }
    return removed;
}

}  // namespace

Status ArtifactStore::remove(const Digest& digest) {
    TUNEFARM_ASSIGN(const bool row, state_->blobs->remove(digest));
    static_cast<void>(row);
    TUNEFARM_ASSIGN(const UniqueFd held, state_->lock(true));
    return state_->files->unlink(state_->object_path(digest));
}

Result<std::vector<ArtifactEntry>> ArtifactStore::list() {
    std::vector<ArtifactEntry> entries;
    TUNEFARM_ASSIGN(const std::vector<BlobInfo> rows, state_->blobs->list());
    for (const BlobInfo& row : rows) entries.push_back(ArtifactEntry{row.digest, row.size, row.stored, true});
    TUNEFARM_ASSIGN(const std::vector<ObjectFile> files, object_files(state_->path("objects")));
    for (const ObjectFile& file : files) {
        const Result<std::int64_t> content = size(file.digest);
        if (content.ok()) entries.push_back(ArtifactEntry{file.digest, *content, file.stored, false});
    }
    std::sort(entries.begin(), entries.end(),
              [](const ArtifactEntry& a, const ArtifactEntry& b) { return a.digest < b.digest; });
    return entries;
}

Result<GcTotals> ArtifactStore::gc(const std::function<bool(const Digest&)>& keep, const GcOptions& options) {
    State& s = *state_;
    GcTotals totals;
    const std::int64_t now = wall_seconds();
    // Not before the end of this second: a zero grace includes what was put a moment ago.
    const std::int64_t before = now - options.grace.count() / 1'000'000 + (options.grace.count() == 0 ? 1 : 0);
    const auto count = [&](bool removed, std::int64_t stored) {
        ++(removed ? totals.removed : totals.kept);
        (removed ? totals.removed_bytes : totals.kept_bytes) += stored;
    };
    TUNEFARM_ASSIGN(const std::vector<BlobInfo> rows, s.blobs->list());
    bool shrink = false;
    for (const BlobInfo& row : rows) {
        bool removed = row.touched_s < before && !keep(row.digest);
        if (removed && !options.dry_run) {
            TUNEFARM_ASSIGN(removed, s.blobs->remove(row.digest, before));
            shrink = true;
        }
        count(removed, row.stored);
    }
    TUNEFARM_ASSIGN(const std::vector<ObjectFile> objects, object_files(s.path("objects")));
    for (const ObjectFile& object : objects) {
        bool removed = object.touched_s < before && !keep(object.digest);
        if (removed && !options.dry_run) {
            TUNEFARM_ASSIGN(const UniqueFd held, s.lock(true));
            struct stat info{};
            removed = ::stat(object.path.c_str(), &info) == 0 && info.st_mtim.tv_sec < before;
            if (removed) TUNEFARM_TRY(s.files->unlink(object.path));
        }
        count(removed, object.stored);
    }
    TUNEFARM_ASSIGN(const std::int64_t temporaries,
                    remove_stale(*s.files, s.path("tmp"), now - kTemporarySeconds, options.dry_run));
    TUNEFARM_ASSIGN(const std::int64_t uploads,
                    remove_stale(*s.files, s.path("incoming"), now - kUploadSeconds, options.dry_run));
    totals.stale_uploads = temporaries + uploads;
    if (shrink) TUNEFARM_TRY(s.blobs->shrink());
    return totals;
}

}  // namespace tunefarm::storage
