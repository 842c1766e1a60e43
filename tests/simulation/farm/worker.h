// SPDX-License-Identifier: MIT
// A worker as the coordinator sees it: connection, heartbeats, queue, slots, device, outbox. Its disk (the outbox)
// survives a crash of its process; nothing else does. Follows worker/agent/agent.cpp, without threads.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "protocol/messages.h"
#include "tests/server/fake_world.h"
#include "tests/simulation/farm/world.h"

namespace tunefarm::simulation {

class SimWorker {
  public:
    struct Options {
        std::string host;
        std::uint32_t slots = 2;
        bool device = false;  ///< measures, beside builds
        bool bad = false;
        double slowness = 1;
        double hang = 0;
    };
    /// What the worker needs of the world.
    struct Seams {
        std::function<void(const std::string& connection, const protocol::FromWorker&)> send;
        std::function<void(const std::string& connection)> close;
        /// Puts contents into the coordinator's store, durably; false if the coordinator cannot be reached now.
        std::function<bool(const std::map<Digest, std::string>&)> upload;
        /// Those of the inputs that the store has.
        std::function<std::map<Digest, std::string>(const std::vector<protocol::Input>&)> fetch;
        std::function<void()> crashed;  ///< a kernel killed the process
    };

    SimWorker(Simulated& world, server::testing::ToyToolchain& toy, Options options, Seams seams)
        : world_(world), toy_(toy), options_(std::move(options)), seams_(std::move(seams)) {}

    void start();
    void crash();
    bool up() const { return up_; }
    /// Nothing runs, waits, or is unacknowledged.
    bool idle() const { return queue_.empty() && running_.empty() && outbox_.empty(); }
    std::string describe() const {
        return options_.host + (up_ ? " up" : " down") + " connection '" + connection_ + "'" +
               (welcomed_ ? " welcomed" : "") + ", " + std::to_string(queue_.size()) + " wait, " +
               std::to_string(running_.size()) + " run, " + std::to_string(outbox_.size()) + " unacknowledged";
    }
    const std::string& connection() const { return connection_; }
    const Options& options() const { return options_; }

    void deliver(const protocol::FromCoordinator& message);

  private:
    struct Job {
        protocol::Assign assign;
        std::size_t next = 0;  ///< item to run
        std::uint64_t id = 0;
    };
    struct Entry {
        protocol::AttemptResult result;
        std::vector<std::string> rows;
        std::map<Digest, std::string> contents;
        bool uploaded = false;
        bool sent = false;
    };
    struct RowLog {
        std::vector<std::string> rows;
        std::size_t sent = 0;
    };

    void connect();
    void disconnect();
    void beat(int life);
    void send(const protocol::FromWorker& message);
    void flush();
    void start_jobs();
    void run_item(const std::shared_ptr<Job>& job);
    void end_item(const std::shared_ptr<Job>& job, Entry entry);
    void cancel(const protocol::AttemptKey& key, const std::string& reason);
    void report(const protocol::AttemptKey& key, Outcome outcome, const std::string& message);
    std::vector<protocol::AttemptKey> attempts() const;

    Simulated& world_;
    server::testing::ToyToolchain& toy_;
    Options options_;
    Seams seams_;

    std::map<protocol::AttemptKey, Entry> outbox_;  ///< on disk

    bool up_ = false;
    int life_ = 0;
    int connections_ = 0;
    std::uint64_t jobs_ = 0;
    std::string connection_;  ///< empty: none
    bool welcomed_ = false;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    Micros last_heard_{0};
    Micros connected_at_{0};
    Micros dead_after_{15'000'000};
    std::deque<std::shared_ptr<Job>> queue_;
    std::map<std::uint64_t, std::shared_ptr<Job>> running_;
    std::map<protocol::AttemptKey, RowLog> row_logs_;
    std::set<protocol::AttemptKey> seen_;
};

}  // namespace tunefarm::simulation
