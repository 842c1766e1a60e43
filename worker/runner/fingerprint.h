// SPDX-License-Identifier: MIT
// Fingerprints of capabilities: digests over the content of everything that can change an output (docs/drivers.md).
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "protocol/messages.h"
#include "worker/runner/driver_events.h"
#include "worker/runner/process.h"

namespace tunefarm::worker {

/// Content digests of files, remembered by (path, device, inode, size, mtime, ctime) in memory and in a file, since
/// hashing a compiler's libraries takes most of a second. A file changed within the last two seconds is hashed every
/// time: a later change could keep its times. Thread-safe.
class FileDigests {
  public:
    /// `state` is read if it exists; empty: memory only.
    explicit FileDigests(std::string state);
    Result<Digest> digest(const std::string& path);
    /// Writes what was learnt since, if anything.
    Status save();

  private:
    std::string state_;
    std::mutex mutex_;
    std::map<std::string, Digest> known_;  ///< "path\tdev inode size mtime ctime" → digest
    bool changed_ = false;
};

/// The digest of a group: file names (without their directory) and contents, programs with all they consist of, values
/// of environment variables. Equal on hosts that keep equal files at different places.
Result<Digest> group_digest(const FileGroup& group, const Environment& environment, FileDigests& files);

/// The capabilities of a hello with their fingerprints. A capability whose files cannot be read becomes a Missing.
std::pair<std::vector<protocol::Capability>, std::vector<protocol::Missing>> fingerprint_hello(
    const DriverHello& hello, const Environment& environment, FileDigests& files);

}  // namespace tunefarm::worker
