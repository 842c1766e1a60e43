// SPDX-License-Identifier: MIT
#include "storage/miopen/database_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/files.h"
#include "storage/miopen/bzip2.h"
#include "storage/miopen/kernel_db.h"
#include "storage/miopen/perf_sqlite.h"
#include "storage/miopen/sqlite_bytes.h"

namespace tunefarm::miopen {

namespace {

using storage::Database;

constexpr std::string_view kSqliteHeader{"SQLite format 3\0", 16};

/// SQLite files are opened in place: they may be large, and a user's may have a -wal beside it.
Result<Database> open_sqlite(const std::string& path, std::string_view bytes, bool in_memory) {
    if (in_memory) return deserialize(bytes, path);
    storage::DatabaseOptions options;
    options.application_id = 0;  // what MIOpen's files have
    Result<Database> db = Database::open_readonly(path, options);
    if (!db.ok() && db.error().kind == ErrorKind::kInput) {
        return Error{ErrorKind::kInput, path + ": is a SQLite database of another program (its application_id is set)"};
    }
    return db;
}

Status load_sqlite(DatabaseFile& file, std::string_view bytes) {
    TUNEFARM_ASSIGN(Database db, open_sqlite(file.path, bytes, file.compressed));
    TUNEFARM_TRY(check_integrity(db, file.path));
    TUNEFARM_ASSIGN(file.journal_mode, db.query_text("PRAGMA journal_mode"));
    TUNEFARM_ASSIGN(file.page_size, db.query_integer("PRAGMA page_size"));
    TUNEFARM_ASSIGN(const std::int64_t kernels,
                    db.query_integer("SELECT count(*) FROM sqlite_schema WHERE name = 'kern_db'"));
    if (kernels > 0) {
        TUNEFARM_TRY(check_kernel_schema(db, file.path));
        file.kind = FileKind::kKernelDb;
        file.content = std::move(db);
        return {};
    }
    file.kind = FileKind::kPerfSqlite;
    file.schema = perf_schema_spelling(db);
    TUNEFARM_ASSIGN(TuningDb records, read_perf_sqlite(db, file.path));
    file.content = std::move(records);
    return {};
}

Status check_kind(const DatabaseFile& file) {
    if (!file.name || file.name->kind == file.kind) return {};
    return Error{ErrorKind::kInput, file.path + ": has the name of a " + to_string(file.name->kind) + ", but is a " +
                                        to_string(file.kind)};
}

/// The header of a file that may be too large to read; empty when it is shorter.
Result<std::string> read_head(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return errno_error(path);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return errno_error(path);
    if (!S_ISREG(info.st_mode)) return Error{ErrorKind::kInput, path + ": is not a regular file"};
    std::array<char, kSqliteHeader.size()> head{};
    const ssize_t size = ::read(fd.get(), head.data(), head.size());
    if (size < 0) return errno_error(path);
    return std::string(head.data(), static_cast<std::size_t>(size));
}

}  // namespace

std::string_view name_part(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Result<DatabaseFile> open_database(const std::string& path) {
    DatabaseFile file{
        path, parse_file_name(name_part(path)), FileKind::kFindDb, false, 0, TuningDb(DbKind::kFind, path), "", "", 0};
    TUNEFARM_ASSIGN(const std::string head, read_head(path));
    if (head == kSqliteHeader) {
        TUNEFARM_TRY(load_sqlite(file, {}));
        TUNEFARM_TRY(check_kind(file));
        return file;
    }
    TUNEFARM_ASSIGN(std::string bytes, read_file(path, kLargestFile));
    file.compressed = is_bzip2(bytes);
    if (file.compressed) {
        Result<std::string> unpacked = bzip2_decompress(bytes, kLargestFile);
        if (!unpacked.ok()) return unpacked.error().in(path);
        bytes = std::move(unpacked).value();
    }
    file.bytes = static_cast<std::int64_t>(bytes.size());
    if (std::string_view(bytes).starts_with(kSqliteHeader)) {
        TUNEFARM_TRY(load_sqlite(file, bytes));
        TUNEFARM_TRY(check_kind(file));
        return file;
    }
    std::optional<DbKind> kind;
    if (file.name && file.name->kind == FileKind::kFindDb) kind = DbKind::kFind;
    if (file.name && file.name->kind == FileKind::kPerfText) kind = DbKind::kPerf;
    if (file.name && !kind) {
        return Error{ErrorKind::kCorruption, path + ": has the name of a " + to_string(file.name->kind) +
                                                 ", but does not begin as a SQLite database"};
    }
    if (!kind) kind = guess_kind(bytes);
    if (!kind) {
        return Error{ErrorKind::kInput,
                     path + ":1: is no database of MIOpen's: neither its name nor its first key is one"};
    }
    file.kind = *kind == DbKind::kFind ? FileKind::kFindDb : FileKind::kPerfText;
    file.content = parse_text(*kind, path, std::move(bytes));
    return file;
}

Status write_output(const std::string& path, std::string bytes) {
    if (path.ends_with(".bz2")) {
        TUNEFARM_ASSIGN(bytes, bzip2_compress(bytes));
    }
    TUNEFARM_TRY(write_file_atomically(path, bytes));
    const char* epoch = std::getenv("SOURCE_DATE_EPOCH");
    if (epoch == nullptr || *epoch == 0) return {};
    const std::string_view text(epoch);
    std::int64_t seconds = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (code != std::errc() || end != text.data() + text.size() || seconds < 0) {
        return Error{ErrorKind::kInput, "SOURCE_DATE_EPOCH is '" + std::string(text) + "', not a number of seconds"};
    }
    timespec time{};
    time.tv_sec = seconds;
    const std::array<timespec, 2> times = {time, time};
    if (::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) != 0) return errno_error(path);
    return {};
}

}  // namespace tunefarm::miopen
