// SPDX-License-Identifier: MIT
// A thin owner of one SQLite connection and its statements. Expected failures are values:
// SQLITE_FULL (and ENOSPC, EDQUOT under any I/O error) is kNoSpace, SQLITE_CORRUPT and SQLITE_NOTADB are kCorruption,
// SQLITE_BUSY and SQLITE_LOCKED are kUnavailable, SQLITE_CONSTRAINT and SQLITE_MISMATCH are kInternal, the rest kIo.
// A connection and its statements belong to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tunefarm::storage {

/// "tfrm": what `file` and `PRAGMA application_id` show of a tunefarm database.
inline constexpr std::int32_t kApplicationId = 0x7466726d;
/// "tfar": the same of an artifact store's blob database.
inline constexpr std::int32_t kArtifactApplicationId = 0x74666172;

/// A prepared statement. Parameters are numbered from 1, columns from 0, as in SQLite. It must not outlive its
/// Database. A failed bind is reported by the next step().
class Statement {
  public:
    Statement() = default;
    Statement(Statement&&) noexcept;
    Statement& operator=(Statement&&) noexcept;
    ~Statement();

    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, double value);
    /// The bytes must stay unchanged until the next reset(): they are not copied.
    Statement& bind(int index, std::string_view text);
    Statement& bind_blob(int index, std::string_view bytes);
    /// As a 32-byte BLOB; a zero digest is NULL. The digest must stay where it is until the next reset().
    Statement& bind(int index, const Digest& digest);
    Statement& bind_null(int index);
    /// NULL for 0: ids and instants use 0 for "none".
    Statement& bind_or_null(int index, std::int64_t value);

    /// True: a row is there. False: done (the statement is reset).
    Result<bool> step();
    /// Steps to the end, ignoring rows, and resets.
    Status run();
    /// Ends the execution (and its hold on the read snapshot) and clears the bindings.
    void reset();

    int columns() const;
    std::string column_name(int column) const;
    bool is_null(int column) const;
    bool is_integer(int column) const;
    bool is_real(int column) const;
    std::int64_t integer(int column) const;   ///< 0 for NULL
    double real(int column) const;            ///< 0 for NULL
    std::string text(int column) const;       ///< empty for NULL
    std::string_view blob(int column) const;  ///< valid until the next step() or reset()
    Digest digest(int column) const;          ///< zero for NULL or another length

    /// For what this class does not say, such as a value's type.
    sqlite3_stmt* handle() const { return handle_; }

  private:
    friend class Database;
    explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
    sqlite3_stmt* handle_ = nullptr;
    int bind_error_ = 0;
};

struct DatabaseOptions {
    std::int32_t application_id = kApplicationId;
    std::int64_t cache_kib = 128 * 1024;  ///< 128 MiB: random index pages must stay cached, or inserts slow down 10×
    std::int32_t checkpoint_pages = 16'000;
    std::int64_t journal_limit_bytes = 256LL << 20;
    std::int32_t busy_timeout_ms = 5'000;
    /// Only for a new file: freed pages can be given back by `PRAGMA incremental_vacuum`.
    bool incremental_vacuum = false;
    /// SQLite VFS to use, empty: the default one. The seam for fault tests.
    std::string vfs;
};

class Database {
  public:
    /// Opens or creates `path` for writing: WAL, synchronous=FULL, trusted_schema=OFF. kCorruption when the file is not
    /// a database, kInput when it is somebody else's (another application_id).
    static Result<Database> open_writable(const std::string& path, const DatabaseOptions& options = {});

    /// Opens an existing `path` to read. Works while a writer writes, after a writer was killed (its -wal is used), and
    /// in a directory that cannot be written: there, a left-over -wal makes it work on a private copy in TMPDIR,
    /// removed on close. kNotFound when there is no file.
    static Result<Database> open_readonly(const std::string& path, const DatabaseOptions& options = {});

    /// A new, empty database in memory, for sqlite3_serialize and sqlite3_deserialize. trusted_schema=OFF.
    static Result<Database> open_memory();

    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    ~Database();

    Result<Statement> prepare(std::string_view sql);
    /// Runs all statements of `sql`, ignoring rows.
    Status execute(const std::string& sql);
    /// The first column of the first row, 0 if there is none or it is NULL.
    Result<std::int64_t> query_integer(std::string_view sql);
    Result<std::string> query_text(std::string_view sql);

    /// True between BEGIN and COMMIT or ROLLBACK (SQLite itself rolls back after some errors).
    bool in_transaction() const;
    const std::string& path() const { return path_; }
    sqlite3* handle() const { return handle_; }

  private:
    Database(sqlite3* handle, std::string path, std::string private_copy);
    static Result<Database> connect(const std::string& uri, int flags, const std::string& vfs);
    void close();

    sqlite3* handle_ = nullptr;
    std::string path_;
    std::string private_copy_;  ///< directory to remove on close, else empty
};

/// A read transaction: every statement inside sees one state. Rolled back at the end of the scope; keep it short, or
/// the writer's WAL cannot be checkpointed. Within another one it does nothing.
class ReadTransaction {
  public:
    explicit ReadTransaction(Database& db);
    ~ReadTransaction();
    ReadTransaction(const ReadTransaction&) = delete;
    ReadTransaction& operator=(const ReadTransaction&) = delete;
    const Status& status() const { return status_; }

  private:
    Database& db_;
    const bool outer_;
    Status status_;
};

/// The Error for a failed SQLite call on this connection.
Error sqlite_error(sqlite3* db, const std::string& what);

}  // namespace tunefarm::storage
