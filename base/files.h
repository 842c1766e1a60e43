// SPDX-License-Identifier: MIT
// Small, durable file operations. All functions are thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tunefarm {

/// Owns a file descriptor; closes it once.
class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    ~UniqueFd() { reset(); }
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;

    int get() const { return fd_; }
    bool valid() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset();

  private:
    int fd_ = -1;
};

/// The content of a regular file of at most `limit` bytes. A directory, a device or a larger file is kInput.
Result<std::string> read_file(const std::string& path, std::int64_t limit);

/// Writes `path` so that a reader, also after power loss, sees the old content or the new: temporary file in the same
/// directory, fsync, rename, fsync of the directory.
Status write_file_atomically(const std::string& path, std::string_view content, mode_t mode = 0644);

/// One component that is safe to create in a directory of ours: 1 to 200 bytes, no '/', no control character, no '.' at
/// its start.
bool is_plain_file_name(std::string_view name);

/// mkdir -p; existing directories are fine.
Status make_directories(const std::string& path, mode_t mode = 0755);
/// The same, and what was made survives power loss.
Status make_durable_directories(const std::string& path);
Status sync_directory(const std::string& path);
/// rm -r without following symbolic links; a missing path is fine.
Status remove_tree(const std::string& path);
/// A new private directory (mode 0700) whose name starts with `prefix`.
Result<std::string> make_temporary_directory(const std::string& prefix);

/// Writes all bytes, retrying on EINTR and short writes.
Status write_all(int fd, std::string_view bytes);

}  // namespace tunefarm
