// SPDX-License-Identifier: MIT
// SQLite databases as bytes: what a file that does not exist yet will hold, and what came out of a .bz2.
#pragma once

#include <string>
#include <string_view>

#include "storage/database.h"

namespace tunefarm::miopen {

/// The bytes of the main database as a file would hold them. No transaction may be open.
Result<std::string> serialize(storage::Database& db);

/// A read-only database over a copy of `bytes`. kCorruption when they are none.
Result<storage::Database> deserialize(std::string_view bytes, const std::string& file);

/// kCorruption with the first findings of PRAGMA integrity_check.
Status check_integrity(storage::Database& db, const std::string& file);

}  // namespace tunefarm::miopen
