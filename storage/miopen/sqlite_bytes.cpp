// SPDX-License-Identifier: MIT
#include "storage/miopen/sqlite_bytes.h"

#include <sqlite3.h>

#include <cstring>
#include <memory>

namespace tunefarm::miopen {

using storage::Database;

Result<std::string> serialize(Database& db) {
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, decltype(&sqlite3_free)> bytes(
        sqlite3_serialize(db.handle(), "main", &size, 0), &sqlite3_free);
    if (bytes == nullptr) return Error{ErrorKind::kNoSpace, "SQLite: no memory for the database's bytes"};
    return std::string(reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size));
}

Result<Database> deserialize(std::string_view bytes, const std::string& file) {
    TUNEFARM_ASSIGN(Database db, Database::open_memory());
    auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
    if (copy == nullptr) return Error{ErrorKind::kNoSpace, file + ": no memory for the database"};
    std::memcpy(copy, bytes.data(), bytes.size());
    // A file that was closed in WAL mode says so in its header, and cannot be opened from memory: version 1 can.
    constexpr std::size_t write_version = 18;
    constexpr std::size_t read_version = 19;
    if (bytes.size() > read_version && copy[write_version] == 2 && copy[read_version] == 2) {
        copy[write_version] = copy[read_version] = 1;
    }
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    const int code = sqlite3_deserialize(db.handle(), "main", copy, size, size,
                                         SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    if (code != SQLITE_OK) return storage::sqlite_error(db.handle(), file);
    const Result<std::int64_t> objects = db.query_integer("SELECT count(*) FROM sqlite_schema");
    if (!objects.ok()) return objects.error().in(file);
    return db;
}

Status check_integrity(Database& db, const std::string& file) {
    Result<std::string> verdict = db.query_text("PRAGMA integrity_check(1)");
    if (!verdict.ok()) return verdict.error().in(file);
    if (*verdict != "ok") return Error{ErrorKind::kCorruption, file + ": SQLite says: " + *verdict};
    return {};
}

}  // namespace tunefarm::miopen
