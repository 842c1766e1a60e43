// SPDX-License-Identifier: MIT
#include "worker/runner/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace tunefarm::worker {

bool is_plain_relative_path(const std::string& path) {
    if (path.empty() || path.size() > 1024 || path.find('\0') != std::string::npos) return false;
    for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find('/', start), path.size());
        const std::string part = path.substr(start, end - start);
        if (part.empty() || part == "." || part == "..") return false;
        start = end + 1;
    }
    return true;
}

Result<UniqueFd> open_output(const std::string& directory, const std::string& relative) {
    if (!is_plain_relative_path(relative)) {
        return Error{ErrorKind::kInput, "output path '" + relative + "' is not a relative path inside the directory"};
    }
    UniqueFd at(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!at.valid()) return errno_error(directory);
    for (std::size_t start = 0;;) {
        const std::size_t end = relative.find('/', start);
        const std::string part = relative.substr(start, end == std::string::npos ? end : end - start);
        const bool last = end == std::string::npos;
        // O_NONBLOCK: a FIFO without a writer must not hang before fstat can refuse it.
        const int flags =
            last ? O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
        UniqueFd next(::openat(at.get(), part.c_str(), flags));
        if (!next.valid()) {
            if (errno == ELOOP || errno == ENOTDIR) {
                return Error{ErrorKind::kInput,
                             "output path '" + relative + "' goes through a symbolic link or a file"};
            }
            return errno_error("output '" + relative + "'");
        }
        if (last) {
            struct stat info{};
            if (::fstat(next.get(), &info) != 0) return errno_error("output '" + relative + "'");
            if (!S_ISREG(info.st_mode)) {
                return Error{ErrorKind::kInput, "output '" + relative + "' is not a plain file"};
            }
            if (info.st_size > kMaxOutput.count) {
                return Error{ErrorKind::kInput, "output '" + relative + "' has " + std::to_string(info.st_size) +
                                                    " bytes, more than the " + std::to_string(kMaxOutput.count) +
                                                    " that an artifact may have"};
            }
            return next;
        }
        at = std::move(next);
        start = end + 1;
    }
}

}  // namespace tunefarm::worker
