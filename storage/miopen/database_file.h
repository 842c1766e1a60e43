// SPDX-License-Identifier: MIT
// Opens any of MIOpen's database files, packed or not, and writes them.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "storage/database.h"
#include "storage/miopen/file_name.h"
#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

/// Largest file, packed or unpacked, that is read into memory.
inline constexpr std::int64_t kLargestFile = 2LL << 30;

struct DatabaseFile {
    std::string path;
    std::optional<FileName> name;  ///< nullopt: the file has another name, and is known by its content alone
    FileKind kind = FileKind::kFindDb;
    bool compressed = false;  ///< was a bzip2 file
    std::int64_t bytes = 0;   ///< uncompressed; 0 for SQLite files, which are not read as a whole

    /// A find-db or perf-db (also one that is SQLite), or the connection to a kernel-db.
    std::variant<TuningDb, storage::Database> content;

    /// Precondition: not a kernel-db.
    TuningDb& db() { return std::get<TuningDb>(content); }
    const TuningDb& db() const { return std::get<TuningDb>(content); }
    bool is_kernel_db() const { return kind == FileKind::kKernelDb; }

    /// Of a SQLite perf-db: its schema's spelling, journal mode and page size. Empty and 0 otherwise.
    std::string schema;
    std::string journal_mode;
    std::int64_t page_size = 0;
};

/// Content decides: SQLite by its header, text by its name's kind or its first key. kInput when it is no database of
/// MIOpen's, kCorruption when bzip2 or SQLite say so. What is wrong inside a text is in db().issues, not an error.
Result<DatabaseFile> open_database(const std::string& path);

/// The file-name part of a path.
std::string_view name_part(std::string_view path);

/// Writes `bytes`, packed when the name ends in ".bz2", by temporary file and rename. With SOURCE_DATE_EPOCH in the
/// environment the file gets that time.
Status write_output(const std::string& path, std::string bytes);

}  // namespace tunefarm::miopen
