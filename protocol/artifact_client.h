// SPDX-License-Identifier: MIT
// Fetches and uploads artifacts over the artifact socket. An object is used by one thread at a time; calls block until
// done, failed or stopped. Lost connections and restarted servers are survived: the transfer goes on where it was, on
// a new socket.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "protocol/socket.h"

namespace tunefarm::protocol {

/// An artifact to upload: the file at `path`, or `bytes` if `path` is empty.
struct LocalArtifact {
    Digest digest;
    std::string path;
    std::string bytes;
};

class ArtifactClient {
  public:
    struct Options {
        ClientSocket::Options socket;              ///< max_frame and high_water are set by the client
        std::uint32_t chunk = 512U << 10;          ///< bytes of content per request, at most kMaxChunk
        std::size_t window = 8;                    ///< requests in flight
        std::chrono::milliseconds silence{5000};   ///< no answer for so long: a new socket
        std::chrono::milliseconds give_up{60000};  ///< no progress for so long: kUnavailable
        const std::atomic<bool>* stop = nullptr;   ///< when it becomes true, calls return kCancelled within 50 ms
    };

    ArtifactClient(const Context& context, std::string endpoint, const Options& options);
    ~ArtifactClient();
    ArtifactClient(const ArtifactClient&) = delete;
    ArtifactClient& operator=(const ArtifactClient&) = delete;

    /// Writes the artifact to `path` (mode 0644): complete and verified, or not at all. What an interrupted call had
    /// received stays in "<path>.<first 16 digits of the digest>.part" and is continued by the next call. kNotFound:
    /// the server does not hold it; kCorruption: size or digest are not as told, after a second try from the beginning;
    /// kUnavailable: no progress for Options::give_up; kCancelled; kIo and kNoSpace from writing.
    Status fetch_file(const Digest& digest, std::uint64_t size, const std::string& path);
    /// The same into memory.
    Result<std::string> fetch_bytes(const Digest& digest, std::uint64_t size);

    /// Uploads those that the server does not hold, and returns when the server holds all of them durably. kCorruption:
    /// a file's content does not have its digest.
    Status put_all(const std::vector<LocalArtifact>& artifacts);

    struct Counters {
        std::uint64_t bytes_in = 0;
        std::uint64_t bytes_out = 0;  ///< content, before compression; repeats counted
        std::uint64_t sockets = 0;    ///< made so far
    };
    Counters counters() const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace tunefarm::protocol
