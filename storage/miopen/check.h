// SPDX-License-Identifier: MIT
// The structural half of upstream's acceptance test for databases (gtest StaticFDBSync, test/gtest/db_sync.cpp): what
// can be said without libMIOpen. The other half (a solver applies, its parameters are valid, its kernels are there)
// needs it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "storage/miopen/database_file.h"

namespace tunefarm::miopen {

/// Items of a find-db whose solver has parameters, and how many of them have their row in the perf-db.
struct References {
    std::int64_t found = 0;
    std::int64_t missing = 0;
};

struct CheckReport {
    std::string path;
    FileKind kind = FileKind::kFindDb;
    std::int64_t keys = 0;          ///< kernel-db: rows
    std::int64_t items = 0;         ///< kernel-db: rows whose blob unpacks to its size and MD5
    std::int64_t legacy_items = 0;  ///< find-db items in format 1.0
    bool keys_sorted = true;
    bool items_by_time = true;  ///< find-dbs: an order that the library's own writer does not keep, and tunefarm does
    Issues issues;

    std::string perf_db;                           ///< what a find-db was compared with; empty: nothing
    std::map<std::string, References> references;  ///< by solver
    References total() const;
};

/// What is wrong with one file: keys that are no problems, sizes and times that cannot be, algorithms of another
/// direction, unknown solvers, legacy items (a warning), order, and all that reading it found; for a kernel-db all of
/// check_kernel, its journal mode and its index. The error is one of reading.
Result<CheckReport> check_database(DatabaseFile& file);

/// Adds to the report of `find`: each of its items with a tunable solver needs a row of `perf`, and no other may have
/// one. A solver that MIOpen 3.3 does not know counts as tunable when `perf` has any row of it.
void check_references(const TuningDb& find, const TuningDb& perf, CheckReport& report);

}  // namespace tunefarm::miopen
