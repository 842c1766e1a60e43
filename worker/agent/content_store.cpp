// SPDX-License-Identifier: MIT
#include "worker/agent/content_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <vector>

namespace tunefarm::worker {

namespace fs = std::filesystem;

Result<std::unique_ptr<ContentStore>> ContentStore::open(const std::string& directory, Bytes limit) {
    TUNEFARM_TRY(make_directories(directory));
    std::unique_ptr<ContentStore> store(new ContentStore(directory, limit));
    std::error_code error;
    for (const auto& file : fs::directory_iterator(directory, error)) {
        const auto digest = Digest::from_hex(file.path().filename().string());
        std::error_code ignored;
        if (!digest) {
            fs::remove(file.path(), ignored);  // a part of an interrupted copy or transfer
            continue;
        }
        Entry& entry = store->entries_[*digest];
        entry.size = static_cast<std::int64_t>(file.file_size(ignored));
        store->total_ += entry.size;
    }
    if (error) return Error{ErrorKind::kIo, directory + ": " + error.message()};
    const std::lock_guard lock(store->mutex_);
    store->evict();
    return store;
}

std::string ContentStore::path_of(const Digest& digest) const {
    return directory_ + "/" + digest.hex();
}

bool ContentStore::pin(const Digest& digest) {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(digest);
    if (it == entries_.end()) return false;
    const Stamp now = stamp_of(path_of(digest));
    if (now.size < 0 || now != it->second.verified) {
        const auto actual = sha256_file(path_of(digest));
        if (!actual.ok() || *actual != digest) {
            ::unlink(path_of(digest).c_str());
            it->second.verified = Stamp{};
            // Others that have it pinned keep their count; they find out by intact().
            if (it->second.pins == 0) {
                total_ -= it->second.size;
                entries_.erase(it);
            }
            return false;
        }
        it->second.verified = now;
    }
    ++it->second.pins;
    it->second.used = ++uses_;
    return true;
}

void ContentStore::unpin(const Digest& digest) {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(digest);
    if (it != entries_.end() && it->second.pins > 0) --it->second.pins;
    evict();
}

bool ContentStore::intact(const Digest& digest) {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(digest);
    return it != entries_.end() && it->second.verified.size >= 0 && stamp_of(path_of(digest)) == it->second.verified;
}

ContentStore::Stamp ContentStore::stamp_of(const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return {};
    return {info.st_ino, info.st_size, std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

void ContentStore::added(const Digest& digest, std::uint64_t size) {
    ::chmod(path_of(digest).c_str(), 0444);
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = entries_.try_emplace(digest);
    if (fresh) {
        it->second.size = static_cast<std::int64_t>(size);
        total_ += it->second.size;
    }
    it->second.verified = stamp_of(path_of(digest));
    ++it->second.pins;
    it->second.used = ++uses_;
    evict();
}

Result<ContentStore::Stored> ContentStore::ingest(const UniqueFd& fd) {
    std::string temporary;
    {
        const std::lock_guard lock(mutex_);
        temporary = directory_ + "/new." + std::to_string(++next_temporary_);
    }
    const UniqueFd copy(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444));
    if (!copy.valid()) return errno_error(temporary);
    Hasher hasher;
    std::uint64_t size = 0;
    std::string chunk(256U << 10, '\0');
    for (;;) {
        const ssize_t n = ::pread(fd.get(), chunk.data(), chunk.size(), static_cast<off_t>(size));
        if (n < 0 && errno == EINTR) continue;
        std::optional<Error> error;
        if (n < 0) error = errno_error("reading an output");
        const std::string_view bytes(chunk.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
        if (n > 0) {
            if (const Status written = write_all(copy.get(), bytes); !written.ok()) error = written.error();
        }
        if (error) {
            ::unlink(temporary.c_str());
            return error->in(temporary);
        }
        if (n == 0) break;
        hasher.add(bytes);
        size += bytes.size();
    }
    const Digest digest = hasher.finish();
    if (pin(digest)) {
        ::unlink(temporary.c_str());
        return Stored{digest, size};
    }
    if (::rename(temporary.c_str(), path_of(digest).c_str()) != 0) return errno_error(temporary);
    added(digest, size);
    return Stored{digest, size};
}

void ContentStore::evict() {
    while (total_ > limit_.count) {
        auto oldest = entries_.end();
        for (auto it = entries_.begin(); it != entries_.end(); ++it) {
            if (it->second.pins > 0) continue;
            if (oldest == entries_.end() || it->second.used < oldest->second.used) oldest = it;
        }
        if (oldest == entries_.end()) return;  // everything is in use: over the limit for now
        ::unlink(path_of(oldest->first).c_str());
        total_ -= oldest->second.size;
        entries_.erase(oldest);
    }
}

}  // namespace tunefarm::worker
