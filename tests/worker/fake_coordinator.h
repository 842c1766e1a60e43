// SPDX-License-Identifier: MIT
// A coordinator made of the real sockets and nothing else: tests say what it sends, and wait for what it gets.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "protocol/artifact_server.h"
#include "protocol/codec.h"
#include "protocol/socket.h"

namespace tunefarm::worker {

/// Artifacts in memory.
class MemoryStore : public protocol::ArtifactBackend {
  public:
    Digest put(const std::string& content) {
        const std::lock_guard lock(mutex_);
        const Digest digest = sha256(content);
        content_[digest] = content;
        return digest;
    }
    std::string get(const Digest& digest) {
        const std::lock_guard lock(mutex_);
        const auto it = content_.find(digest);
        return it == content_.end() ? "(not in the store)" : it->second;
    }
    Result<std::vector<Digest>> missing(const std::vector<Digest>& digests) override {
        const std::lock_guard lock(mutex_);
        std::vector<Digest> result;
        for (const Digest& digest : digests) {
            if (content_.count(digest) == 0) result.push_back(digest);
        }
        return result;
    }
    Result<std::uint64_t> size(const Digest& digest) override {
        const std::lock_guard lock(mutex_);
        if (content_.count(digest) == 0) return Error{ErrorKind::kNotFound, "no such artifact"};
        return std::uint64_t{content_[digest].size()};
    }
    Result<std::string> read(const Digest& digest, std::uint64_t offset, std::uint32_t length) override {
        return get(digest).substr(offset, length);
    }
    Result<std::unique_ptr<protocol::ArtifactUpload>> begin_upload(const Digest&, std::uint64_t) override {
        return std::unique_ptr<protocol::ArtifactUpload>(new Upload(*this));
    }

  private:
    struct Upload : protocol::ArtifactUpload {
        explicit Upload(MemoryStore& into) : store(into) {}
        std::uint64_t have() const override { return bytes.size(); }
        Status write(std::uint64_t, std::string_view more) override {
            bytes += more;
            return {};
        }
        Status commit() override {
            store.put(bytes);
            return {};
        }
        MemoryStore& store;
        std::string bytes;
    };
    std::mutex mutex_;
    std::map<Digest, std::string> content_;
};

class FakeCoordinator {
  public:
    explicit FakeCoordinator(const std::string& directory) : directory_(directory) {
        server_ = protocol::ArtifactServer::start(context_, "ipc://" + directory + "/artifacts", store, {}).value();
        bind();
    }
    std::string endpoint() const { return "ipc://" + directory_ + "/control"; }
    void bind() { socket_.emplace(protocol::ServerSocket::bind(context_, endpoint(), {}).value()); }
    void vanish() { socket_.reset(); }

    /// Answers hellos and collects everything until `enough`; false after 20 s.
    bool until(const std::function<bool()>& enough) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!enough()) {
            if (std::chrono::steady_clock::now() > deadline) return false;
            protocol::wait({*socket_}, std::chrono::milliseconds(50));
            while (auto incoming = socket_->receive()) take(*incoming);
        }
        return true;
    }
    void send(const protocol::FromCoordinator& message) {
        EXPECT_EQ(socket_->send(peer, protocol::encode(message)), protocol::Sent::kSent);
    }
    /// The results of these attempts, in this order; acknowledged unless `acknowledge` is false.
    std::vector<protocol::AttemptResult> results_of(const std::vector<protocol::AttemptKey>& keys) {
        EXPECT_TRUE(until([&] {
            for (const auto& key : keys) {
                if (results.count(key) == 0) return false;
            }
            return true;
        }));
        std::vector<protocol::AttemptResult> found;
        for (const auto& key : keys) found.push_back(results[key]);
        return found;
    }

    MemoryStore store;
    std::string peer;
    std::vector<protocol::Hello> hellos;
    std::map<protocol::AttemptKey, protocol::AttemptResult> results;
    std::map<protocol::AttemptKey, std::map<std::uint64_t, std::string>> rows;
    protocol::SlotAccount account;
    bool goodbye = false;
    bool acknowledge = true;
    std::vector<protocol::AttemptKey> running;

  private:
    void take(const protocol::Incoming& incoming) {
        auto message = protocol::decode_from_worker(incoming.payload);
        ASSERT_TRUE(message.ok()) << message.error().message;
        peer = incoming.peer;
        if (auto* hello = std::get_if<protocol::Hello>(&*message)) {
            hellos.push_back(*hello);
            protocol::Welcome welcome;
            welcome.farm = "test";
            welcome.artifacts = server_->endpoint();
            welcome.heartbeat = Micros{50'000};
            welcome.dead_after = Micros{2'000'000};
            send(welcome);
        } else if (auto* result = std::get_if<protocol::AttemptResult>(&*message)) {
            results[result->key] = *result;
            if (acknowledge) send(protocol::Ack{{result->key}, false});
        } else if (auto* more = std::get_if<protocol::Rows>(&*message)) {
            for (std::size_t i = 0; i < more->rows.size(); ++i) rows[more->key][more->first + i] = more->rows[i];
        } else if (auto* beat = std::get_if<protocol::WorkerHeartbeat>(&*message)) {
            account = beat->account;
            running = beat->running;
        } else if (std::holds_alternative<protocol::Goodbye>(*message)) {
            goodbye = true;
        }
    }

    const std::string directory_;
    protocol::Context context_;
    std::unique_ptr<protocol::ArtifactServer> server_;
    std::optional<protocol::ServerSocket> socket_;
};

}  // namespace tunefarm::worker
