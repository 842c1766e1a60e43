// SPDX-License-Identifier: MIT
#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"

namespace tunefarm {

namespace fs = std::filesystem;

void UniqueFd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

Result<std::string> read_file(const std::string& path, std::int64_t limit) {
    // O_NONBLOCK: opening a FIFO without a writer must not hang before fstat can refuse it.
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return errno_error(path);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return errno_error(path);
    if (S_ISDIR(info.st_mode)) return Error{ErrorKind::kInput, path + ": is a directory, not a file"};
    if (!S_ISREG(info.st_mode)) return Error{ErrorKind::kInput, path + ": is not a regular file"};
    if (info.st_size > limit) {
        return Error{ErrorKind::kInput,
                     path + ": has " + std::to_string(info.st_size) + " bytes; the limit is " + std::to_string(limit)};
    }
    std::string content;
    content.resize(static_cast<std::size_t>(info.st_size));
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = ::read(fd.get(), content.data() + done, content.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(path);
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    content.resize(done);
    return content;
}

Status write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error("write");
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

Status sync_directory(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) return errno_error(path);
    if (::fsync(fd.get()) != 0) return errno_error("fsync " + path);
    return {};
}

Status write_file_atomically(const std::string& path, std::string_view content, mode_t mode) {
    TUNEFARM_ASSIGN(AtomicFile file, AtomicFile::create(path, mode));
    TUNEFARM_TRY(file.write(content));
    return file.commit();
}

bool is_plain_file_name(std::string_view name) {
    constexpr std::size_t kLongest = 200;
    return !name.empty() && name.size() <= kLongest && name[0] != '.' &&
           std::none_of(name.begin(), name.end(), [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte < 0x20 || byte == 0x7F || c == '/';
           });
}

Status make_directories(const std::string& path, mode_t mode) {
    // Mostly the parent is there.
    if (::mkdir(path.c_str(), mode) == 0) return {};
    std::string made;
    for (const auto& part : fs::path(errno == EEXIST ? "" : path)) {
        made = (fs::path(made) / part).string();
        if (made.empty() || part.empty()) continue;
        if (::mkdir(made.c_str(), mode) != 0 && errno != EEXIST) return errno_error(made);
    }
    std::error_code code;
    if (!fs::is_directory(path, code)) return Error{ErrorKind::kIo, path + ": is not a directory"};
    return {};
}

Status make_durable_directories(const std::string& path) {
    const fs::path wanted = fs::path(path).lexically_normal();
    const fs::path parent = wanted.has_filename() ? wanted.parent_path() : wanted.parent_path().parent_path();
    std::error_code code;
    if (fs::is_directory(path, code)) return {};
    if (!parent.empty()) TUNEFARM_TRY(make_durable_directories(parent.string()));
    TUNEFARM_TRY(make_directories(path));
    return sync_directory(parent.empty() ? "." : parent.string());
}

Status remove_tree(const std::string& path) {
    std::error_code code;
    fs::remove_all(path, code);
    if (code) return Error{ErrorKind::kIo, path + ": " + code.message()};
    return {};
}

Result<std::string> make_temporary_directory(const std::string& prefix) {
    std::string name = prefix + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return errno_error(name);
    return name;
}

}  // namespace tunefarm
