// SPDX-License-Identifier: MIT
// Results that the coordinator has not acknowledged, on disk: they survive the worker process. One append-only file:
//   record = u32 length of body (little endian) | SHA-256 of body | body
//   body   = frames of messages (rows first, the result last), each u32 length | bytes
// The file is emptied when nothing is pending, and rewritten when most of it is acknowledged.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "protocol/messages.h"

namespace tunefarm::worker {

/// Thread-safe.
class Outbox {
  public:
    struct Entry {
        protocol::AttemptKey key;
        std::vector<std::string> frames;  ///< encoded; the AttemptResult is the last
    };

    /// Reads what an earlier process left; a torn record at the end (power loss) and what follows it are dropped.
    static Result<std::unique_ptr<Outbox>> open(const std::string& directory);

    /// Durable on return: one fsync for all.
    Status add(std::vector<Entry> entries);
    /// Unknown keys are fine.
    void acknowledge(const std::vector<protocol::AttemptKey>& keys);

    /// Entries that were not taken since reset(), at most `limit`, oldest first.
    std::vector<std::shared_ptr<const Entry>> take_unsent(std::size_t limit);
    /// An entry that could not be sent after all.
    void put_back(const protocol::AttemptKey& key);
    /// A new connection: everything is sent again.
    void reset();
    std::size_t pending() const;

  private:
    struct Held {
        std::shared_ptr<const Entry> entry;
        std::int64_t size = 0;  ///< of its record in the file
        bool taken = false;
    };
    explicit Outbox(std::string path) : path_(std::move(path)) {}
    Status rewrite();  // with mutex_ held

    const std::string path_;
    mutable std::mutex mutex_;
    UniqueFd file_;
    std::int64_t size_ = 0;
    std::int64_t live_ = 0;                  ///< bytes of pending records
    std::map<std::uint64_t, Held> entries_;  ///< in the order of arrival
    std::map<protocol::AttemptKey, std::uint64_t> order_;
    std::uint64_t first_unsent_ = 1;  ///< everything before it is taken
    std::uint64_t next_ = 1;
};

}  // namespace tunefarm::worker
