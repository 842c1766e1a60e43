// SPDX-License-Identifier: MIT
// The steps behind migrate(), as a list that tests can extend.
#pragma once

#include <span>

#include "base/result.h"
#include "storage/database.h"

namespace tunefarm::storage {

/// Version n is reached by running steps[n - 1] on version n - 1. A step that was released is never changed.
struct Migration {
    const char* sql;
};

/// The first schema.
extern const char* const kSchemaV1;

/// Applies what is missing, one transaction each. Before the first step on a database that already has rows, a copy is
/// made beside it as `<path>.v<old>.backup`. kUnsupported, with nothing changed, when the database is newer.
Status apply_migrations(Database& db, std::span<const Migration> steps);

}  // namespace tunefarm::storage
