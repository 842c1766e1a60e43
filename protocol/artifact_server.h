// SPDX-License-Identifier: MIT
// Serves artifacts to workers on a socket and a thread of its own, so that large transfers never delay the control
// socket. Transfers are pulled by clients: the server answers each request once and keeps no queue of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "protocol/socket.h"

namespace tunefarm::protocol {

/// One artifact on its way into the store. Used by the server's thread only. Destroyed without commit(), the bytes may
/// be kept for a later begin_upload of the same digest, or dropped.
class ArtifactUpload {
  public:
    virtual ~ArtifactUpload() = default;
    /// Bytes stored from the beginning: where to go on.
    virtual std::uint64_t have() const = 0;
    /// `offset` is have().
    virtual Status write(std::uint64_t offset, std::string_view bytes) = 0;
    /// Verifies size and digest (kCorruption: the bytes are dropped) and returns once the artifact is durable.
    virtual Status commit() = 0;
};

/// Where artifacts live. Called from the server's thread only; what it shares with other threads it locks itself.
class ArtifactBackend {
  public:
    virtual ~ArtifactBackend() = default;
    /// Those of `digests` that the store does not hold, in their order.
    virtual Result<std::vector<Digest>> missing(const std::vector<Digest>& digests) = 0;
    /// Bytes of uncompressed content; kNotFound if it is not there.
    virtual Result<std::uint64_t> size(const Digest& digest) = 0;
    /// Up to `length` bytes of uncompressed content from `offset`, fewer only at the end. Clients read a whole artifact
    /// front to back, a chunk at a time.
    virtual Result<std::string> read(const Digest& digest, std::uint64_t offset, std::uint32_t length) = 0;
    /// At most one Upload of a digest is open at a time.
    virtual Result<std::unique_ptr<ArtifactUpload>> begin_upload(const Digest& digest, std::uint64_t size) = 0;
};

class ArtifactServer {
  public:
    struct Options {
        /// max_frame and high_water are set by the server. With CURVE each request needs a role that may_fetch() or
        /// may_store().
        ServerSocket::Options socket;
        /// An uploader that has been silent for so long loses its place to another one.
        std::chrono::milliseconds upload_idle{5000};
        /// Uploads that nobody has written to for so long are closed.
        std::chrono::milliseconds upload_forget{60000};
        std::size_t max_uploads = 256;  ///< open at a time; more are told to come back later
    };

    /// Binds and starts the thread. `backend` must outlive the server.
    static Result<std::unique_ptr<ArtifactServer>> start(const Context& context, const std::string& endpoint,
                                                         ArtifactBackend& backend, const Options& options);
    /// Stops the thread and closes the socket.
    ~ArtifactServer();
    ArtifactServer(const ArtifactServer&) = delete;
    ArtifactServer& operator=(const ArtifactServer&) = delete;

    const std::string& endpoint() const;

    struct Counters {
        std::uint64_t requests = 0;
        std::uint64_t bytes_out = 0;
        std::uint64_t bytes_in = 0;
        std::uint64_t refused = 0;  ///< frames that could not be decoded, requests that the role does not allow
        std::uint64_t unsent = 0;   ///< answers dropped because the peer was gone or did not read
    };
    /// Thread-safe.
    Counters counters() const;

  private:
    struct Impl;
    explicit ArtifactServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace tunefarm::protocol
