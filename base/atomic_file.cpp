// SPDX-License-Identifier: MIT
#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace tunefarm {

AtomicFile::AtomicFile(std::string path, std::string temporary, UniqueFd fd)
    : path_(std::move(path)), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, {})), fd_(std::move(other.fd_)) {}

AtomicFile::~AtomicFile() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::string& path, mode_t mode) {
    static std::atomic<std::uint64_t> counter{0};
    std::string temporary = path + ".tmp." + std::to_string(::getpid()) + "." + std::to_string(counter.fetch_add(1));
    UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.valid()) return errno_error(temporary);
    return AtomicFile(path, std::move(temporary), std::move(fd));
}

Status AtomicFile::write(std::string_view bytes) {
    const Status written = write_all(fd_.get(), bytes);
    return written.ok() ? Status() : Status(written.error().in(temporary_));
}

Status AtomicFile::commit() {
    if (::fsync(fd_.get()) != 0) return errno_error(temporary_ + ": fsync");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return errno_error("rename to " + path_);
    temporary_.clear();
    fd_.reset();
    const std::filesystem::path parent = std::filesystem::path(path_).parent_path();
    return sync_directory(parent.empty() ? "." : parent.string());
}

}  // namespace tunefarm
