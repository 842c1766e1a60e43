// SPDX-License-Identifier: MIT
// The SQLite form of a perf-db (sqlite_db.hpp, sqlite_db.cpp of MIOpen): one row of `config` is a problem, one row of
// `perf_db` a solver's parameters for it. Equal to the text form by upstream's tools/sqlite2txt.
//
// Two spellings of the schema are about: the library's own CREATE statements, and the shipped files', which differ in
// blanks. Both are read, and any other with the columns that the library asks for; the library's is written.
#pragma once

#include <string>
#include <string_view>

#include "storage/database.h"
#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

/// The columns that the library asks for: the check that makes it say "Invalid fields in table … disabling access".
/// kInput with the missing ones, or when `config` or `perf_db` is a view or virtual table.
Status check_perf_schema(storage::Database& db, const std::string& file);

/// "library", "shipped" or "other".
std::string perf_schema_spelling(storage::Database& db);

/// The rows as records, sorted. Rows that cannot be said in text (';' or '=' in a name, a wrong type), rows of a
/// missing config, and configs without rows are issues, with their row id as the line. An error only when SQLite fails.
Result<TuningDb> read_perf_sqlite(storage::Database& db, const std::string& file);

/// The bytes of a database file: upstream's schema, ids in the order of the sorted records, rollback journal, 4096-byte
/// pages. Equal records give equal bytes with one version of SQLite. kInput when a key is none of a convolution.
Result<std::string> to_perf_sqlite(const TuningDb& db);

}  // namespace tunefarm::miopen
