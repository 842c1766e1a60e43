// SPDX-License-Identifier: MIT
// An artifact store in memory whose partial uploads survive a restart of the server, with places to interfere.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "protocol/artifact_server.h"

namespace tunefarm::protocol {

class MemoryBackend : public ArtifactBackend {
  public:
    /// Called before each read or write with its number, from 1, on the server's thread.
    std::function<void(int)> on_read;
    std::function<void(int)> on_write;
    /// May change what a read returns.
    std::function<void(std::string&)> damage;
    Status commit_result;

    Digest add(const std::string& content) {
        const std::lock_guard lock(mutex_);
        const Digest digest = sha256(content);
        stored_[digest] = content;
        return digest;
    }
    bool holds(const Digest& digest) {
        const std::lock_guard lock(mutex_);
        return stored_.contains(digest);
    }
    std::uint64_t bytes_read() {
        const std::lock_guard lock(mutex_);
        return bytes_read_;
    }
    std::uint64_t bytes_written() {
        const std::lock_guard lock(mutex_);
        return bytes_written_;
    }
    int most_open() {
        const std::lock_guard lock(mutex_);
        return most_open_;
    }

    Result<std::vector<Digest>> missing(const std::vector<Digest>& digests) override {
        const std::lock_guard lock(mutex_);
        std::vector<Digest> out;
        std::copy_if(digests.begin(), digests.end(), std::back_inserter(out),
                     [&](const Digest& digest) { return !stored_.contains(digest); });
        return out;
    }
    Result<std::uint64_t> size(const Digest& digest) override {
        const std::lock_guard lock(mutex_);
        const auto found = stored_.find(digest);
        if (found == stored_.end()) return Error{ErrorKind::kNotFound, digest.hex()};
        return std::uint64_t{found->second.size()};
    }
    Result<std::string> read(const Digest& digest, std::uint64_t offset, std::uint32_t length) override {
        if (on_read) on_read(++reads_);
        const std::lock_guard lock(mutex_);
        std::string out = stored_.at(digest).substr(offset, length);
        bytes_read_ += out.size();
        if (damage) damage(out);
        return out;
    }
    Result<std::unique_ptr<ArtifactUpload>> begin_upload(const Digest& digest, std::uint64_t size) override {
        const std::lock_guard lock(mutex_);
        most_open_ = std::max(most_open_, ++open_[digest]);
        return std::unique_ptr<ArtifactUpload>(std::make_unique<Partial>(*this, digest, size));
    }

  private:
    class Partial : public ArtifactUpload {
      public:
        Partial(MemoryBackend& store, const Digest& digest, std::uint64_t size)
            : store_(store), digest_(digest), size_(size) {}
        ~Partial() override {
            const std::lock_guard lock(store_.mutex_);
            --store_.open_[digest_];
        }
        std::uint64_t have() const override {
            const std::lock_guard lock(store_.mutex_);
            return store_.partial_[digest_].size();
        }
        Status write(std::uint64_t offset, std::string_view bytes) override {
            if (store_.on_write) store_.on_write(++store_.writes_);
            const std::lock_guard lock(store_.mutex_);
            std::string& content = store_.partial_[digest_];
            if (offset != content.size() || content.size() + bytes.size() > size_) {
                return Error{ErrorKind::kInternal, "a write out of order"};
            }
            content += bytes;
            store_.bytes_written_ += bytes.size();
            return {};
        }
        Status commit() override {
            const std::lock_guard lock(store_.mutex_);
            if (!store_.commit_result.ok()) return store_.commit_result;
            const std::string content = std::move(store_.partial_[digest_]);
            store_.partial_.erase(digest_);
            if (content.size() != size_ || sha256(content) != digest_) {
                return Error{ErrorKind::kCorruption, "another digest"};
            }
            store_.stored_[digest_] = content;
            return {};
        }

      private:
        MemoryBackend& store_;
        Digest digest_;
        std::uint64_t size_;
    };

    std::mutex mutex_;
    std::map<Digest, std::string> stored_;
    std::map<Digest, std::string> partial_;
    std::map<Digest, int> open_;
    int most_open_ = 0;
    int reads_ = 0;
    int writes_ = 0;
    std::uint64_t bytes_read_ = 0;
    std::uint64_t bytes_written_ = 0;
};

}  // namespace tunefarm::protocol
