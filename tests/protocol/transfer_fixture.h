// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "base/files.h"
#include "protocol/artifact_client.h"
#include "protocol/artifact_server.h"
#include "tests/protocol/memory_backend.h"

namespace tunefarm::protocol {

using std::chrono::milliseconds;

class TransferTest : public ::testing::Test {
  protected:
    void SetUp() override { dir_ = *make_temporary_directory("/tmp/tunefarm-transfer-"); }
    void TearDown() override {
        server_.reset();
        ASSERT_TRUE(remove_tree(dir_).ok());
    }

    void serve(const std::string& endpoint = "") {
        auto server = ArtifactServer::start(context_, endpoint.empty() ? "ipc://" + dir_ + "/a" : endpoint, backend_,
                                            server_options_);
        ASSERT_TRUE(server.ok()) << server.error().message;
        server_ = std::move(server).value();
        endpoint_ = server_->endpoint();
    }

    /// Small chunks, so that a small artifact is many of them; short silences, so that lost answers cost little.
    ArtifactClient::Options small_chunks() const {
        ArtifactClient::Options options;
        options.chunk = 1000;
        options.window = 4;
        options.silence = milliseconds(200);
        options.give_up = milliseconds(20000);
        options.socket.insecure = true;
        options.socket.reconnect_min = milliseconds(10);
        return options;
    }

    static std::string noise(std::size_t size, unsigned seed = 1) {
        std::mt19937 random(seed);
        std::string out(size, '\0');
        for (char& c : out) c = static_cast<char>(random());
        return out;
    }

    std::string path(const std::string& name) const { return dir_ + "/" + name; }
    std::string content(const std::string& name) const {
        auto read = read_file(path(name), 1 << 30);
        return read.ok() ? *read : "unreadable: " + read.error().message;
    }
    std::string part_of(const std::string& name, const Digest& digest) const {
        return path(name) + "." + digest.hex().substr(0, 16) + ".part";
    }
    static LocalArtifact local(const std::string& bytes) { return {sha256(bytes), "", bytes}; }

    std::string dir_;
    Context context_;
    MemoryBackend backend_;
    ArtifactServer::Options server_options_;
    std::unique_ptr<ArtifactServer> server_;
    std::string endpoint_;
};

/// Stands in the way of the server's thread for a moment: long enough for the test to begin stopping the server, which
/// then ends with requests unanswered.
class Gate {
  public:
    void arrive() {
        std::unique_lock lock(mutex_);
        if (opened_) return;
        reached_ = true;
        changed_.notify_all();
        changed_.wait_for(lock, milliseconds(100), [&] { return opened_; });
    }
    void wait_until_reached() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return reached_; });
    }
    void open() {
        const std::lock_guard lock(mutex_);
        opened_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool reached_ = false;
    bool opened_ = false;
};

}  // namespace tunefarm::protocol
