// SPDX-License-Identifier: MIT
// Turns records into rows: one prepared upsert per table.
#pragma once

#include <cstddef>
#include <memory>

#include "base/result.h"
#include "storage/database.h"
#include "storage/records.h"

namespace tunefarm::storage {

/// Belongs to the thread of its Database, which must outlive it.
class RecordApplier {
  public:
    /// Prepares every statement: a schema that does not fit fails here and not at the first record.
    static Result<RecordApplier> create(Database& db);
    RecordApplier(RecordApplier&&) noexcept;
    RecordApplier& operator=(RecordApplier&&) noexcept;
    ~RecordApplier();

    /// Inside a transaction of the caller. Applying a record twice leaves the same rows.
    Status apply(const Record& record);

  private:
    struct Statements;
    explicit RecordApplier(std::unique_ptr<Statements> statements);
    std::unique_ptr<Statements> statements_;
};

/// Memory that a queued record takes, about.
std::size_t footprint(const Record& record);

}  // namespace tunefarm::storage
