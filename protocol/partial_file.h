// SPDX-License-Identifier: MIT
// The growing local copy of an artifact that is being fetched. Internal to protocol/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/files.h"
#include "base/result.h"

namespace tunefarm::protocol {

/// Where fetched bytes go. Bytes arrive in order.
class FetchSink {
  public:
    virtual ~FetchSink() = default;
    virtual std::uint64_t have() const = 0;
    virtual Status append(std::string_view bytes) = 0;
    /// kCorruption and have() == 0 afterwards if the content is not the digest's.
    virtual Status finish() = 0;
};

class MemorySink : public FetchSink {
  public:
    explicit MemorySink(const Digest& digest) : digest_(digest) {}
    std::uint64_t have() const override { return bytes_.size(); }
    Status append(std::string_view bytes) override {
        bytes_ += bytes;
        return {};
    }
    Status finish() override;
    std::string take() { return std::move(bytes_); }

  private:
    Digest digest_;
    std::string bytes_;
};

/// "<path>.<16 digits>.part", renamed to `path` by finish(). The destructor keeps it, so that another object continues.
class PartialFile : public FetchSink {
  public:
    /// Opens or creates the partial file; a longer one than `size` is emptied. Never follows a symbolic link.
    static Result<PartialFile> open(const Digest& digest, std::uint64_t size, const std::string& path);

    std::uint64_t have() const override { return have_; }
    Status append(std::string_view bytes) override;
    Status finish() override;
    void discard();

  private:
    PartialFile(const Digest& digest, std::string path, std::string part, UniqueFd fd);
    Status restart();

    Digest digest_;
    std::string path_;
    std::string part_;
    UniqueFd fd_;
    std::uint64_t have_ = 0;
    Hasher hasher_;
};

}  // namespace tunefarm::protocol
