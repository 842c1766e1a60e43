// SPDX-License-Identifier: MIT
// Every database that tunefarm writes, as the bytes of its file: sorted, in format 2.0, in upstream's schema. The same
// content gives the same bytes.
#pragma once

#include <string>

#include "storage/miopen/database_file.h"

namespace tunefarm::miopen {

/// kInput with the first issue and the number of errors, unless there are none or `drop_ignored` says to go on without
/// what the library ignores.
Status require_clean(const Issues& issues, bool drop_ignored);

/// A find-db or perf-db in memory as a file of `target`. Find-dbs become format 2.0. kInput when the kinds do not fit.
Result<std::string> to_bytes(const TuningDb& db, FileKind target, bool drop_ignored);

/// The same of any file: a perf-db changes between text and SQLite, a kernel-db is written anew. Rows of a kernel-db
/// that the library would never find or not accept are errors like the rest.
Result<std::string> to_bytes(DatabaseFile& file, FileKind target, bool drop_ignored);

}  // namespace tunefarm::miopen
