// SPDX-License-Identifier: MIT
// The database's schema: `PRAGMA user_version` counts the migrations that were applied. They only go forward, each in
// one transaction. Tables and views are documented in docs/storage.md.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "storage/database.h"

namespace tunefarm::storage {

/// The version that this build writes.
std::int32_t schema_version();

/// Brings `db` (open for writing) to schema_version(). kUnsupported when it is newer: nothing is changed.
Status migrate(Database& db);

/// What a reader requires: exactly this build's version. kUnsupported when it is newer ("update tunefarm"), kInput when
/// older ("start a coordinator on it once") or when it is no tunefarm database.
Status check_version(Database& db);

}  // namespace tunefarm::storage
