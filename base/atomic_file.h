// SPDX-License-Identifier: MIT
// A file that is written piece by piece and appears all at once.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"

namespace tunefarm {

/// A reader of `path`, also after power loss, sees the old content or the whole new one. Until commit() the bytes are
/// in a temporary file of the same directory, which the destructor removes. One thread at a time.
class AtomicFile {
  public:
    static Result<AtomicFile> create(const std::string& path, mode_t mode = 0644);
    ~AtomicFile();
    AtomicFile(AtomicFile&&) noexcept;
    AtomicFile& operator=(AtomicFile&&) = delete;

    Status write(std::string_view bytes);
    /// fsync, rename, fsync of the directory. Nothing may be written afterwards.
    Status commit();

  private:
    AtomicFile(std::string path, std::string temporary, UniqueFd fd);

    std::string path_;
    std::string temporary_;  // empty: there is none (any more)
    UniqueFd fd_;
};

}  // namespace tunefarm
