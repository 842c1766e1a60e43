// SPDX-License-Identifier: MIT
// Small artifacts as rows of artifacts.db. Concurrent put() calls share transactions: whoever comes while a commit runs
// is part of the next one.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "storage/database.h"

namespace tunefarm::storage {

struct BlobRow {
    Digest digest;
    std::int64_t size = 0;  ///< uncompressed
    std::string frame;
};

struct BlobInfo {
    Digest digest;
    std::int64_t size = 0;
    std::int64_t stored = 0;
    std::int64_t touched_s = 0;  ///< wall clock of the last put
};

/// Thread-safe; several processes may use one file.
class Blobs {
  public:
    static Result<std::unique_ptr<Blobs>> open(const std::string& path, const std::string& vfs);

    /// Durable when it returns. Rows that are there are only touched.
    Status put(std::vector<BlobRow> rows);
    Result<std::optional<BlobInfo>> find(const Digest& digest);
    /// nullopt: not here. The frame is not verified.
    Result<std::optional<std::string>> frame(const Digest& digest);
    /// Without `before_s`: always. With: only when it was last put before that second; false: it was not removed.
    Result<bool> remove(const Digest& digest, std::optional<std::int64_t> before_s = std::nullopt);
    Result<std::vector<BlobInfo>> list();
    /// Gives pages of removed rows back to the file system.
    Status shrink();

  private:
    struct Batch {
        std::vector<BlobRow> rows;
        Status status;
        bool done = false;
    };
    Blobs(Database writer, Database reader) : writer_(std::move(writer)), reader_(std::move(reader)) {}
    Status prepare();
    Status commit(const std::vector<Batch*>& batches);

    std::mutex queue_mutex_;
    std::condition_variable committed_;
    std::vector<Batch*> queue_;  // of threads that wait in put()
    bool committing_ = false;

    std::mutex writer_mutex_;
    Database writer_;
    Statement insert_;
    std::mutex reader_mutex_;
    Database reader_;
    Statement find_, frame_;
};

/// Seconds of the wall clock.
std::int64_t wall_seconds();

}  // namespace tunefarm::storage
