// SPDX-License-Identifier: MIT
// The single writer of the database: a thread that commits what is submitted, many submissions per transaction (group
// commit), with synchronous=FULL. What committed() covers survives power loss.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "storage/database.h"
#include "storage/records.h"

namespace tunefarm::storage {

struct WriterOptions {
    /// A submission waits at most this long for company before its commit starts; zero commits at once. Nobody works
    /// slower for it (results are acted upon before they are durable, only their acknowledgement waits), and a tiny
    /// task begins and ends within it: its rows are written once instead of twice or three times.
    Micros max_delay{25'000};
    /// Records that start a commit without waiting.
    std::size_t max_batch = 8'000;
    /// submit() blocks above this many bytes of uncommitted records: bounds memory when the disk stands still.
    std::size_t max_queued_bytes = 256U << 20U;
    /// Pause between attempts while the disk is full.
    Micros retry{1'000'000};
    DatabaseOptions database;
};

struct WriterStats {
    std::uint64_t commits = 0;
    std::uint64_t records = 0;         ///< committed
    std::uint64_t queued_records = 0;  ///< not yet committed
    std::size_t queued_bytes = 0;
    std::int64_t wal_pages = 0;  ///< after the last commit
    Micros last_commit{0};       ///< how long the last COMMIT took
};

/// All functions may be called from any thread.
class Writer {
  public:
    /// Creates or migrates the database at `path` (its directory must exist) and starts the thread. Holds
    /// `<path>.lock`: a second writer of the same database, in any process, is kUnavailable and names the first's pid.
    static Result<std::unique_ptr<Writer>> open(const std::string& path, const WriterOptions& options = {});

    /// Commits what was submitted if that is possible now (a full disk is not waited for), then stops the thread.
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    /// Queues the records for one transaction and returns their ticket: 1, 2, 3, … in the order of the commits. Blocks
    /// only above max_queued_bytes. An empty submission is a ticket like any other.
    std::uint64_t submit(std::vector<Record> records);

    /// Every ticket <= this is durable.
    std::uint64_t committed() const;

    /// An eventfd, readable after committed() advanced or health() changed. The caller reads it to clear it; the Writer
    /// owns it.
    int event_fd() const;

    /// Waits until everything submitted before the call is durable. While the disk is full it waits; it fails only when
    /// health() is final.
    Status flush();

    /// kNoSpace, kIo, kUnavailable: the last commit failed, the queue is kept and tried again every `retry`; ok again
    /// by itself. kCorruption, kInternal: final; nothing is committed any more, submissions are dropped and never
    /// covered by committed(). The process must end (and may start again: what was committed is there).
    Status health() const;

    WriterStats stats() const;

  private:
    struct State;
    explicit Writer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace tunefarm::storage
