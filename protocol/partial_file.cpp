// SPDX-License-Identifier: MIT
#include "protocol/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace tunefarm::protocol {
namespace {

Error wrong_content(const Digest& digest) {
    return Error{ErrorKind::kCorruption, "artifact " + digest.hex() + ": the received bytes have another digest"};
}

}  // namespace

Status MemorySink::finish() {
    if (sha256(bytes_) == digest_) return {};
    bytes_.clear();
    return wrong_content(digest_);
}

PartialFile::PartialFile(const Digest& digest, std::string path, std::string part, UniqueFd fd)
    : digest_(digest), path_(std::move(path)), part_(std::move(part)), fd_(std::move(fd)) {}

Result<PartialFile> PartialFile::open(const Digest& digest, std::uint64_t size, const std::string& path) {
    std::string part = path + "." + digest.hex().substr(0, 16) + ".part";
    // O_NONBLOCK: a FIFO of that name must be refused below, not waited for.
    UniqueFd fd(::open(part.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644));
    if (!fd.valid()) return errno_error(part);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return errno_error(part);
    if (!S_ISREG(info.st_mode)) return Error{ErrorKind::kIo, part + ": is not a regular file"};
    PartialFile file(digest, path, std::move(part), std::move(fd));
    if (static_cast<std::uint64_t>(info.st_size) > size) {
        TUNEFARM_TRY(file.restart());
        return file;
    }
    std::string buffer(std::size_t{1} << 16, '\0');
    for (;;) {
        const ssize_t n = ::read(file.fd_.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(file.part_);
        if (n == 0) break;
        file.hasher_.add(std::string_view(buffer).substr(0, static_cast<std::size_t>(n)));
        file.have_ += static_cast<std::uint64_t>(n);
    }
    return file;
}

Status PartialFile::restart() {
    hasher_ = Hasher();
    have_ = 0;
    if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0) return errno_error(part_);
    return {};
}

Status PartialFile::append(std::string_view bytes) {
    const Status written = write_all(fd_.get(), bytes);
    if (!written.ok()) {
        // What a failed write left is not known to the hasher: cut it off, so that a later call can go on.
        if (::ftruncate(fd_.get(), static_cast<off_t>(have_)) != 0) ::unlink(part_.c_str());
        return written.error().in(part_);
    }
    hasher_.add(bytes);
    have_ += bytes.size();
    return {};
}

Status PartialFile::finish() {
    if (hasher_.finish() != digest_) {
        TUNEFARM_TRY(restart());
        return wrong_content(digest_);
    }
    if (::fdatasync(fd_.get()) != 0) return errno_error("fsync " + part_);
    if (::rename(part_.c_str(), path_.c_str()) != 0) return errno_error("rename to " + path_);
    const auto parent = std::filesystem::path(path_).parent_path();
    return sync_directory(parent.empty() ? "." : parent.string());
}

void PartialFile::discard() {
    ::unlink(part_.c_str());
}

}  // namespace tunefarm::protocol
