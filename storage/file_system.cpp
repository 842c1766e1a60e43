// SPDX-License-Identifier: MIT
#include "storage/file_system.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace tunefarm::storage {

namespace {

class RealFileSystem final : public FileSystem {
  public:
    Result<UniqueFd> open(const std::string& path, int flags, mode_t mode) override {
        UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, mode));
        if (!fd.valid()) return errno_error(path);
        return fd;
    }
    Status write(int fd, std::string_view bytes) override { return write_all(fd, bytes); }
    Status sync(int fd) override {
        if (::fsync(fd) != 0) return errno_error("fsync");
        return {};
    }
    Status sync_directory(const std::string& path) override { return tunefarm::sync_directory(path); }
    Status make_directory(const std::string& path) override { return make_directories(path); }
    Status rename(const std::string& from, const std::string& to) override {
        if (::rename(from.c_str(), to.c_str()) != 0) return errno_error("rename to " + to);
        return {};
    }
    Status unlink(const std::string& path) override {
        if (::unlink(path.c_str()) != 0 && errno != ENOENT) return errno_error(path);
        return {};
    }
};

}  // namespace

FileSystem& FileSystem::real() {
    static RealFileSystem real;
    return real;
}

}  // namespace tunefarm::storage
