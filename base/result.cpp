// SPDX-License-Identifier: MIT
#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace tunefarm {

const char* to_string(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::kInput: return "input";
        case ErrorKind::kNotFound: return "not found";
        case ErrorKind::kCorruption: return "corruption";
        case ErrorKind::kIo: return "i/o";
        case ErrorKind::kNoSpace: return "no space";
        case ErrorKind::kUnavailable: return "unavailable";
        case ErrorKind::kUnsupported: return "unsupported";
        case ErrorKind::kCancelled: return "cancelled";
        case ErrorKind::kTimeout: return "timeout";
        case ErrorKind::kInternal: return "internal";
    }
    return "unknown";
}

Error errno_error(const std::string& what) {
    const int code = errno;
    ErrorKind kind = ErrorKind::kIo;
    if (code == ENOSPC || code == EDQUOT || code == ENOMEM) kind = ErrorKind::kNoSpace;
    // ENOTDIR: a part of the path is a file, so nothing is there either.
    if (code == ENOENT || code == ENOTDIR) kind = ErrorKind::kNotFound;
    return Error{kind, what + ": " + std::strerror(code)};
}

}  // namespace tunefarm
