// SPDX-License-Identifier: MIT
// A find-db or a perf-db in memory, and the text form of both (db_record.cpp, readonlyramdb.cpp of MIOpen):
//
//   file = { line "\n" }                      empty lines are ignored
//   line = KEY "=" ID ":" VALUES { ";" ID ":" VALUES }
//
// KEY ends at the first '=', ID at the first ':' of its item. The library's own rules decide what a record is: of equal
// keys, and of equal IDs in a line, the first counts; an item without ':' and a line without key are skipped. Here each
// such place is an issue with file and line; nothing is skipped in silence.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tunefarm::miopen {

enum class DbKind : std::uint8_t { kFind, kPerf };

struct Issue {
    enum class Severity : std::uint8_t {
        kWarning,  ///< the library works, but not as the file's author may think
        kError,    ///< the library ignores this, or cannot use it
    };
    Severity severity = Severity::kError;
    std::string file;
    std::int64_t line = 0;  ///< from 1; a row id for SQLite; 0: the file as a whole
    std::string message;
};
/// "FILE:LINE: error: MESSAGE".
std::string to_string(const Issue& issue);

/// Findings in the order of their discovery. Keeps the first 1000; counts all.
class Issues {
  public:
    void add(Issue issue);
    void add(const Issues& other);
    const std::vector<Issue>& kept() const { return kept_; }
    std::int64_t errors() const { return errors_; }
    std::int64_t warnings() const { return warnings_; }

  private:
    std::vector<Issue> kept_;
    std::int64_t errors_ = 0;
    std::int64_t warnings_ = 0;
};

/// A find-db's ID is a solver (format 2.0) or an algorithm (1.0); a perf-db's is a solver.
struct Item {
    std::string_view id;
    std::string_view values;
    bool operator==(const Item&) const = default;
};

struct Record {
    std::string_view key;
    std::vector<Item> items;
    std::uint32_t line = 0;  ///< where it was read; 0: made here
};

/// Owns all text that its records point to; copies share it. Not thread-safe while records are added.
class TuningDb {
  public:
    TuningDb(DbKind kind, std::string file);

    DbKind kind() const { return kind_; }
    const std::string& file() const { return file_; }

    std::vector<Record> records;
    Issues issues;

    /// Keeps `text` alive with this database.
    std::string_view keep(std::string text);
    /// Keeps alive what the records of `other` point to.
    void share(const TuningDb& other);

  private:
    struct Arena;
    DbKind kind_;
    std::string file_;
    std::vector<std::shared_ptr<Arena>> arenas_;
};

/// Reads the text form. Never fails: what is wrong is in `issues`. `file` names it in them.
TuningDb parse_text(DbKind kind, std::string file, std::string bytes);

/// Which of the two forms of text `bytes` is, by its first key; nullopt when that is neither.
std::optional<DbKind> guess_kind(std::string_view bytes);

/// The records in their order. parse_text's inverse for a file without issues and empty lines.
std::string to_text(const TuningDb& db);

/// The order of everything that tunefarm writes: records by key; a find-db's items by (time, solver), a perf-db's by
/// solver. Bytes compare as unsigned.
void sort(TuningDb& db);
/// The first key that breaks the order of records, or nullptr.
const Record* first_unsorted(const TuningDb& db);

}  // namespace tunefarm::miopen
