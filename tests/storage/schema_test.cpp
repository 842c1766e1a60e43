// SPDX-License-Identifier: MIT
#include "storage/schema.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "storage/migrations.h"
#include "tests/storage/fixtures.h"

namespace tunefarm::storage::test {
namespace {

TEST(Schema, NewDatabaseHasTheCurrentVersionAndPragmas) {
    const TemporaryDirectory dir;
    Database db = Database::open_writable(dir / "db").value();
    ASSERT_OK(migrate(db));
    EXPECT_EQ(db.query_integer("PRAGMA user_version").value(), schema_version());
    EXPECT_EQ(db.query_integer("PRAGMA application_id").value(), kApplicationId);
    EXPECT_EQ(db.query_text("PRAGMA journal_mode").value(), "wal");
    EXPECT_EQ(db.query_integer("PRAGMA synchronous").value(), 2) << "FULL";
    EXPECT_EQ(db.query_integer("PRAGMA trusted_schema").value(), 0);
    EXPECT_EQ(
        db.query_integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE '%STRICT%'").value(),
        0);
    EXPECT_EQ(db.query_text("SELECT name FROM task_kind WHERE kind = 3").value(), "build");
    ASSERT_OK(migrate(db));
}

TEST(Schema, NewerDatabaseIsRefusedAndUnchanged) {
    const TemporaryDirectory dir;
    {
        Database db = Database::open_writable(dir / "db").value();
        ASSERT_OK(migrate(db));
        ASSERT_OK(db.execute("PRAGMA user_version=" + std::to_string(schema_version() + 1)));
    }
    const auto writer = Writer::open(dir / "db");
    ASSERT_FALSE(writer.ok());
    EXPECT_EQ(writer.error().kind, ErrorKind::kUnsupported);
    EXPECT_NE(writer.error().message.find("update tunefarm"), std::string::npos);
    Database db = Database::open_readonly(dir / "db").value();
    EXPECT_EQ(check_version(db).error().kind, ErrorKind::kUnsupported);
    EXPECT_EQ(db.query_integer("PRAGMA user_version").value(), schema_version() + 1);
}

TEST(Schema, StepsGoForwardOneTransactionEachAfterABackup) {
    const TemporaryDirectory dir;
    const std::array<Migration, 1> first = {{{"CREATE TABLE a(x INTEGER) STRICT; INSERT INTO a VALUES(7);"}}};
    const std::array<Migration, 3> later = {
        {first[0], {"ALTER TABLE a ADD COLUMN y TEXT;"}, {"CREATE TABLE b(x TEXT) STRICT; oops;"}}};
    Database db = Database::open_writable(dir / "db").value();
    ASSERT_OK(apply_migrations(db, first));
    const Status failed = apply_migrations(db, later);
    ASSERT_FALSE(failed.ok());
    EXPECT_NE(failed.error().message.find("schema 3"), std::string::npos);
    EXPECT_EQ(db.query_integer("PRAGMA user_version").value(), 2);
    EXPECT_EQ(db.query_integer("SELECT count(*) FROM sqlite_schema WHERE name = 'b'").value(), 0);
    EXPECT_EQ(db.query_integer("SELECT x FROM a WHERE y IS NULL").value(), 7);
    Database backup = Database::open_readonly(dir / "db.v1.backup").value();
    EXPECT_EQ(backup.query_integer("SELECT x FROM a").value(), 7);
    EXPECT_EQ(apply_migrations(db, first).error().kind, ErrorKind::kUnsupported);
}

TEST(Schema, ForeignAndBrokenFilesAreRefused) {
    const TemporaryDirectory dir;
    ASSERT_OK(write_file_atomically(dir / "text", std::string(10'000, 'x')));
    EXPECT_EQ(Database::open_writable(dir / "text").error().kind, ErrorKind::kCorruption);
    EXPECT_EQ(Database::open_readonly(dir / "text").error().kind, ErrorKind::kCorruption);
    EXPECT_EQ(Database::open_readonly(dir / "missing").error().kind, ErrorKind::kNotFound);
    DatabaseOptions other;
    other.application_id = 42;
    {
        Database db = Database::open_writable(dir / "other", other).value();
        ASSERT_OK(db.execute("CREATE TABLE t(x)"));
    }
    EXPECT_EQ(Database::open_writable(dir / "other").error().kind, ErrorKind::kInput);
    EXPECT_EQ(Database::open_readonly(dir / "other").error().kind, ErrorKind::kInput);
}

TEST(Schema, PathsMayHoldUriCharacters) {
    const TemporaryDirectory dir;
    const std::string path = dir / "a?b#c%41.db";
    write(path, small_farm());
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_OK(Database::open_readonly(path));
}

/// Opens as a user who cannot write the directory and returns how many samples it saw.
int samples_as_stranger(const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(255);
        Result<Database> db = Database::open_readonly(path);
        if (!db.ok()) ::_exit(254);
        const Result<std::int64_t> n = db->query_integer("SELECT count(*) FROM sample");
        const int seen = n.ok() ? static_cast<int>(*n) : 253;
        {
            const Database closed = std::move(*db);
        }
        ::_exit(seen);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The files of a database whose writer still runs, as a kill would leave them.
void copy_live_database(const std::string& from, const std::string& to) {
    std::filesystem::create_directory(to);
    for (const char* suffix : {"", "-wal"}) std::filesystem::copy_file(from + suffix, to + "/db" + suffix);
}

TEST(ReadOnly, WorksInADirectoryThatCannotBeWritten) {
    const TemporaryDirectory dir;
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    write(dir / "db", small_farm());
    const std::string clean = dir / "clean";
    std::filesystem::create_directory(clean);
    std::filesystem::copy_file(dir / "db", clean + "/db");
    ASSERT_EQ(::chmod(clean.c_str(), 0555), 0);
    EXPECT_EQ(samples_as_stranger(clean + "/db"), 7);
    EXPECT_FALSE(std::filesystem::exists(clean + "/db-shm"));
}

TEST(ReadOnly, SeesTheWalOfAKilledWriterInADirectoryThatCannotBeWritten) {
    const TemporaryDirectory dir;
    ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
    auto writer = Writer::open(dir / "db").value();
    writer->submit(small_farm());
    ASSERT_OK(writer->flush());
    const std::string left = dir / "left";
    copy_live_database(dir / "db", left);
    ASSERT_GT(std::filesystem::file_size(left + "/db-wal"), 0U);
    ASSERT_EQ(::chmod(left.c_str(), 0555), 0);
    EXPECT_EQ(samples_as_stranger(left + "/db"), 7);
    EXPECT_FALSE(std::filesystem::exists(left + "/db-shm"));
}

TEST(ReadOnly, SeesCommitsWhileTheWriterWrites) {
    const TemporaryDirectory dir;
    auto writer = Writer::open(dir / "db").value();
    Database reader = Database::open_readonly(dir / "db").value();
    EXPECT_EQ(reader.query_integer("SELECT count(*) FROM sample").value(), 0);
    writer->submit(small_farm());
    ASSERT_OK(writer->flush());
    EXPECT_EQ(reader.query_integer("SELECT count(*) FROM sample").value(), 7);
    EXPECT_FALSE(reader.execute("DELETE FROM sample").ok());
}

}  // namespace
}  // namespace tunefarm::storage::test
