// SPDX-License-Identifier: MIT
#include "storage/database.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/files.h"

namespace tunefarm::storage {

namespace {

/// `path` as a file: URI; SQLite decodes %, and reads ? and # as separators.
std::string to_uri(const std::string& path, const char* parameters) {
    static const char* digits = "0123456789abcdef";
    std::string uri = "file:";
    for (const char c : path) {
        if (c == '%' || c == '?' || c == '#') {
            const auto byte = static_cast<unsigned char>(c);
            uri += '%';
            uri += digits[byte >> 4U];
            uri += digits[byte & 15U];
        } else {
            uri += c;
        }
    }
    return uri + parameters;
}

std::int64_t file_size(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_size : -1;
}

}  // namespace

Error sqlite_error(sqlite3* db, const std::string& what) {
    const int code = db != nullptr ? sqlite3_errcode(db) : SQLITE_NOMEM;
    const char* text = db != nullptr ? sqlite3_errmsg(db) : "out of memory";
    ErrorKind kind = ErrorKind::kIo;
    switch (code & 0xff) {
        case SQLITE_FULL: kind = ErrorKind::kNoSpace; break;
        case SQLITE_NOMEM: kind = ErrorKind::kNoSpace; break;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: kind = ErrorKind::kCorruption; break;
        case SQLITE_BUSY:
        case SQLITE_LOCKED: kind = ErrorKind::kUnavailable; break;
        case SQLITE_ERROR:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_MISUSE:
        case SQLITE_RANGE:
        case SQLITE_TOOBIG: kind = ErrorKind::kInternal; break;
        case SQLITE_IOERR:
        case SQLITE_CANTOPEN: {
            const int system = db != nullptr ? sqlite3_system_errno(db) : 0;
            if (system == ENOSPC || system == EDQUOT) kind = ErrorKind::kNoSpace;
            break;
        }
        default: break;
    }
    return Error{kind, what + ": " + text};
}

// ---- Statement ----

Statement::Statement(Statement&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), bind_error_(other.bind_error_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
    if (this != &other) {
        sqlite3_finalize(handle_);
        handle_ = std::exchange(other.handle_, nullptr);
        bind_error_ = other.bind_error_;
    }
    return *this;
}

Statement::~Statement() {
    sqlite3_finalize(handle_);
}

Statement& Statement::bind(int index, std::int64_t value) {
    if (const int code = sqlite3_bind_int64(handle_, index, value); code != SQLITE_OK) bind_error_ = code;
    return *this;
}

Statement& Statement::bind(int index, double value) {
    if (const int code = sqlite3_bind_double(handle_, index, value); code != SQLITE_OK) bind_error_ = code;
    return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
    const char* data = text.data() != nullptr ? text.data() : "";
    const int code = sqlite3_bind_text64(handle_, index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
    if (code != SQLITE_OK) bind_error_ = code;
    return *this;
}

Statement& Statement::bind_blob(int index, std::string_view bytes) {
    const char* data = bytes.data() != nullptr ? bytes.data() : "";
    const int code = sqlite3_bind_blob64(handle_, index, data, bytes.size(), SQLITE_STATIC);
    if (code != SQLITE_OK) bind_error_ = code;
    return *this;
}

Statement& Statement::bind(int index, const Digest& digest) {
    if (digest.is_zero()) return bind_null(index);
    const int code = sqlite3_bind_blob64(handle_, index, digest.bytes.data(), digest.bytes.size(), SQLITE_STATIC);
    if (code != SQLITE_OK) bind_error_ = code;
    return *this;
}

Statement& Statement::bind_null(int index) {
    if (const int code = sqlite3_bind_null(handle_, index); code != SQLITE_OK) bind_error_ = code;
    return *this;
}

Statement& Statement::bind_or_null(int index, std::int64_t value) {
    return value == 0 ? bind_null(index) : bind(index, value);
}

Result<bool> Statement::step() {
    if (handle_ == nullptr) return Error{ErrorKind::kInternal, "an empty SQL statement was executed"};
    sqlite3* db = sqlite3_db_handle(handle_);
    if (bind_error_ != SQLITE_OK) {
        const Error error{ErrorKind::kInternal, std::string("bind: ") + sqlite3_errstr(bind_error_)};
        reset();
        return error;
    }
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) {
        reset();
        return false;
    }
    const Error error = sqlite_error(db, sqlite3_sql(handle_));
    reset();
    return error;
}

Status Statement::run() {
    while (true) {
        const Result<bool> row = step();
        if (!row.ok()) return row.error();
        if (!*row) return {};
    }
}

void Statement::reset() {
    if (handle_ == nullptr) return;
    sqlite3_reset(handle_);
    sqlite3_clear_bindings(handle_);
    bind_error_ = SQLITE_OK;
}

int Statement::columns() const {
    return sqlite3_column_count(handle_);
}

std::string Statement::column_name(int column) const {
    return sqlite3_column_name(handle_, column);
}

bool Statement::is_null(int column) const {
    return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

bool Statement::is_integer(int column) const {
    return sqlite3_column_type(handle_, column) == SQLITE_INTEGER;
}

bool Statement::is_real(int column) const {
    return sqlite3_column_type(handle_, column) == SQLITE_FLOAT;
}

std::int64_t Statement::integer(int column) const {
    return sqlite3_column_int64(handle_, column);
}

double Statement::real(int column) const {
    return sqlite3_column_double(handle_, column);
}

std::string Statement::text(int column) const {
    const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
    const int size = sqlite3_column_bytes(handle_, column);
    return data != nullptr ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string_view Statement::blob(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(handle_, column));
    const int size = sqlite3_column_bytes(handle_, column);
    return data != nullptr ? std::string_view(data, static_cast<std::size_t>(size)) : std::string_view();
}

Digest Statement::digest(int column) const {
    Digest digest;
    const std::string_view bytes = blob(column);
    if (bytes.size() == digest.bytes.size()) std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
    return digest;
}

// ---- Database ----

Database::Database(sqlite3* handle, std::string path, std::string private_copy)
    : handle_(handle), path_(std::move(path)), private_copy_(std::move(private_copy)) {}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)),
      path_(std::move(other.path_)),
      private_copy_(std::exchange(other.private_copy_, {})) {}

Database& Database::operator=(Database&& other) noexcept {
    if (this != &other) {
        close();
        handle_ = std::exchange(other.handle_, nullptr);
        path_ = std::move(other.path_);
        private_copy_ = std::exchange(other.private_copy_, {});
    }
    return *this;
}

Database::~Database() {
    close();
}

void Database::close() {
    // close_v2: a statement that outlives its Database by mistake leaks instead of dangling.
    sqlite3_close_v2(std::exchange(handle_, nullptr));
    if (!private_copy_.empty()) {
        const Status ignored = remove_tree(std::exchange(private_copy_, {}));
        static_cast<void>(ignored);
    }
}

Result<Database> Database::connect(const std::string& uri, int flags, const std::string& vfs) {
    // Only before its first use: SQLite would lock a mutex at every allocation, to count bytes that nobody asks for.
    static const int uncounted = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    static_cast<void>(uncounted);
    sqlite3* handle = nullptr;
    const int code = sqlite3_open_v2(uri.c_str(), &handle, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                                     vfs.empty() ? nullptr : vfs.c_str());
    if (code != SQLITE_OK) {
        const Error error = sqlite_error(handle, uri);
        sqlite3_close_v2(handle);
        return error;
    }
    sqlite3_extended_result_codes(handle, 1);
    return Database(handle, uri, "");
}

Result<Database> Database::open_writable(const std::string& path, const DatabaseOptions& options) {
    TUNEFARM_ASSIGN(Database db, connect(to_uri(path, ""), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, options.vfs));
    db.path_ = path;
    sqlite3_busy_timeout(db.handle_, options.busy_timeout_ms);
    // The first read of the file: what is wrong with it shows here.
    Result<std::int64_t> first = db.query_integer("SELECT count(*) FROM sqlite_schema");
    if (!first.ok()) return first.error().in(path);
    const std::int64_t objects = *first;
    TUNEFARM_ASSIGN(const std::int64_t application, db.query_integer("PRAGMA application_id"));
    if (objects == 0 && application == 0) {
        // Only before the first page is written can the kind of vacuum be chosen.
        if (options.incremental_vacuum) TUNEFARM_TRY(db.execute("PRAGMA auto_vacuum=INCREMENTAL"));
        TUNEFARM_TRY(db.execute("PRAGMA application_id=" + std::to_string(options.application_id)));
    } else if (application != options.application_id) {
        return Error{ErrorKind::kInput, path + ": is a SQLite database of another program; choose another directory"};
    }
    TUNEFARM_ASSIGN(const std::string mode, db.query_text("PRAGMA journal_mode=WAL"));
    if (mode != "wal") {
        return Error{ErrorKind::kUnsupported,
                     path + ": this file system has no shared memory for SQLite's WAL; use a local disk"};
    }
    // trusted_schema: a crafted file must not run functions with side effects from its views.
    // foreign_keys: records arrive in any order and each check costs a look-up; PRAGMA foreign_key_check finds orphans.
    TUNEFARM_TRY(
        db.execute("PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA foreign_keys=OFF;"
                   "PRAGMA temp_store=MEMORY;"
                   "PRAGMA cache_size=-" +
                   std::to_string(options.cache_kib) +
                   ";"
                   "PRAGMA wal_autocheckpoint=" +
                   std::to_string(options.checkpoint_pages) +
                   ";"
                   "PRAGMA journal_size_limit=" +
                   std::to_string(options.journal_limit_bytes)));
    return db;
}

Result<Database> Database::open_memory() {
    TUNEFARM_ASSIGN(Database db, connect(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, ""));
    TUNEFARM_TRY(db.execute("PRAGMA trusted_schema=OFF"));
    return db;
}

Result<Database> Database::open_readonly(const std::string& path, const DatabaseOptions& options) {
    if (file_size(path) < 0) return errno_error(path);
    const auto probe = [&](Result<Database> opened) -> Result<Database> {
        if (!opened.ok()) return opened;
        sqlite3_busy_timeout(opened->handle_, options.busy_timeout_ms);
        Result<std::int64_t> read = opened->query_integer("SELECT count(*) FROM sqlite_schema");
        if (!read.ok()) return read.error().in(path);
        TUNEFARM_ASSIGN(const std::int64_t application, opened->query_integer("PRAGMA application_id"));
        if (application != options.application_id) {
            return Error{ErrorKind::kInput, path + ": is not a tunefarm database"};
        }
        opened->path_ = path;
        TUNEFARM_TRY(
            opened->execute("PRAGMA query_only=ON; PRAGMA trusted_schema=OFF; PRAGMA temp_store=MEMORY;"
                            "PRAGMA cache_size=-16384"));
        return opened;
    };
    Result<Database> plain = probe(connect(to_uri(path, "?mode=ro"), SQLITE_OPEN_READONLY, options.vfs));
    if (plain.ok() || plain.error().kind != ErrorKind::kIo) return plain;

    // A directory that cannot be written: without a -shm file no WAL index can be shared. Without a -wal there is
    // nothing to share, and nobody writes (a writer has both files).
    const std::string wal = path + "-wal";
    if (file_size(wal) <= 0) {
        return probe(connect(to_uri(path, "?immutable=1"), SQLITE_OPEN_READONLY, options.vfs));
    }
    // The rows of a killed writer are in its -wal: read them from a copy that can have an index.
    const char* tmp = std::getenv("TMPDIR");
    TUNEFARM_ASSIGN(
        const std::string copy,
        make_temporary_directory(std::string(tmp != nullptr && *tmp != 0 ? tmp : "/tmp") + "/tunefarm-db-"));
    const std::string name = copy + "/database";
    std::error_code code;
    std::filesystem::copy_file(path, name, code);
    if (!code) std::filesystem::copy_file(wal, name + "-wal", code);
    Result<Database> opened = Error{ErrorKind::kIo, path + ": cannot be copied to " + copy + ": " + code.message()};
    if (!code) {
        // The modes came along with the copy; the WAL index needs a writable file next to it only.
        opened = probe(connect(to_uri(name, "?mode=ro"), SQLITE_OPEN_READONLY, options.vfs));
    }
    if (opened.ok()) {
        opened->private_copy_ = copy;
    } else {
        TUNEFARM_TRY(remove_tree(copy));
    }
    return opened;
}

Result<Statement> Database::prepare(std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &statement, nullptr);
    if (code != SQLITE_OK) return sqlite_error(handle_, std::string(sql));
    return Statement(statement);
}

Status Database::execute(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        return sqlite_error(handle_, sql.substr(0, 200));
    }
    return {};
}

Result<std::int64_t> Database::query_integer(std::string_view sql) {
    TUNEFARM_ASSIGN(Statement statement, prepare(sql));
    TUNEFARM_ASSIGN(const bool row, statement.step());
    return row ? statement.integer(0) : 0;
}

Result<std::string> Database::query_text(std::string_view sql) {
    TUNEFARM_ASSIGN(Statement statement, prepare(sql));
    TUNEFARM_ASSIGN(const bool row, statement.step());
    return row ? statement.text(0) : std::string();
}

bool Database::in_transaction() const {
    return sqlite3_get_autocommit(handle_) == 0;
}

ReadTransaction::ReadTransaction(Database& db)
    : db_(db), outer_(!db.in_transaction()), status_(outer_ ? db.execute("BEGIN") : Status()) {}

ReadTransaction::~ReadTransaction() {
    if (outer_ && db_.in_transaction()) {
        const Status ignored = db_.execute("ROLLBACK");
        static_cast<void>(ignored);
    }
}

}  // namespace tunefarm::storage
