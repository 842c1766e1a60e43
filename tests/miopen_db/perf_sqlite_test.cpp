// SPDX-License-Identifier: MIT
#include "storage/miopen/perf_sqlite.h"

#include "storage/miopen/problem.h"
#include "storage/miopen/sqlite_bytes.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

using storage::Database;

const std::string kText =
    std::string("2x64x28x28x1x1x1x1x128x16x0x0x0x1x1x0x1x1x0x0x1xNHWCxINT8INT8INT32xW=ConvAsm1x1U:1,2\n") + kPerfKey +
    "=ConvAsm3x3U:1,16;ConvBinWinogradRxSf2x3:215\n"
    "3x64x28x28x4x3x3x3x128x16x1x1x1x1x1x2x1x1x1x0x2xNCDHWxFP16xB=Ck:Dev<256, 128>+1\n";

Database open(const std::string& bytes) {
    Result<Database> db = deserialize(bytes, "p.db");
    EXPECT_TRUE(db.ok());
    return std::move(db).value();
}

Database edited(const std::string& sql) {
    Database db = open(*to_perf_sqlite(parse_text(DbKind::kPerf, "p", kText)));
    Result<Database> copy = Database::open_memory();
    // A deserialised database is read-only; its rows go into one that is not.
    const std::string bytes = *serialize(db);
    const TemporaryFolder folder;
    const std::string path = folder.write("p.db", bytes);
    EXPECT_TRUE(copy->execute("ATTACH '" + path + "' AS f; " + sql + " ; DETACH f").ok());
    return open(content_of(path));
}

TEST(MiopenPerfSqlite, TextToSqliteToTextIsTheIdentity) {
    const TuningDb text = parse_text(DbKind::kPerf, "p", kText);
    ASSERT_EQ(to_lines(text.issues), "");
    const auto bytes = to_perf_sqlite(text);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    Database db = open(*bytes);
    EXPECT_TRUE(check_integrity(db, "p.db").ok());
    const auto back = read_perf_sqlite(db, "p.db");
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(to_lines(back->issues), "");
    EXPECT_EQ(to_text(*back), kText);
}

TEST(MiopenPerfSqlite, TheFileHasUpstreamsSchemaAndSettings) {
    Database db = open(*to_perf_sqlite(parse_text(DbKind::kPerf, "p", kText)));
    EXPECT_TRUE(check_perf_schema(db, "p.db").ok());
    EXPECT_EQ(perf_schema_spelling(db), "library");
    EXPECT_EQ(*db.query_text("SELECT sql FROM sqlite_schema WHERE name = 'perf_db'"),
              "CREATE TABLE `perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,`config` INTEGER NOT NULL,"
              "`params` TEXT NOT NULL)");
    EXPECT_EQ(
        *db.query_text("SELECT sql FROM sqlite_schema WHERE name = 'idx_config'"),
        "CREATE UNIQUE INDEX `idx_config` ON config( layout,data_type,direction,spatial_dim,in_channels,in_h,in_w,"
        "in_d,fil_h,fil_w,fil_d,out_channels,batchsize,pad_h,pad_w,pad_d,conv_stride_h,conv_stride_w,conv_stride_d,"
        "dilation_h,dilation_w,dilation_d,bias,group_count )");
    for (const auto& [pragma, value] : {std::pair{"user_version", 0}, {"application_id", 0}, {"page_size", 4096}}) {
        EXPECT_EQ(*db.query_integer(std::string("PRAGMA ") + pragma), value);
    }
    EXPECT_EQ(*db.query_integer("SELECT count(*) FROM config WHERE typeof(in_h) <> 'integer'"), 0);
}

TEST(MiopenPerfSqlite, TheLibrarysLookupFindsItsRow) {
    // WhereClause() of sqlite_db.hpp: all values are bound as text.
    Database db = open(*to_perf_sqlite(parse_text(DbKind::kPerf, "p", kText)));
    const auto params = db.query_text(
        "SELECT params FROM perf_db INNER JOIN config ON perf_db.config = config.id WHERE (layout = 'NCHW') AND "
        "(data_type = 'FP32') AND (direction = 'F') AND (spatial_dim = '2') AND (in_channels = '64') AND (in_h = '28') "
        "AND (fil_h = '3') AND (out_channels = '128') AND (batchsize = '16') AND (group_count = '1') AND solver = "
        "'ConvBinWinogradRxSf2x3'");
    ASSERT_TRUE(params.ok());
    EXPECT_EQ(*params, "215");
}

TEST(MiopenPerfSqlite, EqualRecordsGiveEqualBytesInAnyOrder) {
    TuningDb db = parse_text(DbKind::kPerf, "p", kText);
    const std::string first = *to_perf_sqlite(db);
    std::reverse(db.records.begin(), db.records.end());
    EXPECT_EQ(*to_perf_sqlite(db), first);
}

TEST(MiopenPerfSqlite, TheShippedSpellingOfTheSchemaIsRead) {
    Database db = edited(
        "DROP TABLE f.perf_db; CREATE TABLE f.`perf_db` (`id` INTEGER PRIMARY KEY ASC,`solver` TEXT NOT NULL,`config` "
        "INTEGER NOT NULL, `params` TEXT NOT NULL); CREATE UNIQUE INDEX f.`idx_perf_db` ON perf_db(solver, config); "
        "INSERT INTO f.perf_db VALUES (1, 'A', 1, '7')");
    EXPECT_EQ(perf_schema_spelling(db), "shipped");
    const auto records = read_perf_sqlite(db, "p.db");
    ASSERT_TRUE(records.ok());
    EXPECT_EQ(records->records.size(), 1U);
    EXPECT_EQ(records->issues.warnings(), 1);  // two configs have no row any more
}

TEST(MiopenPerfSqlite, RowsThatTextCannotHoldAreNamed) {
    Database db = edited(
        "INSERT INTO f.perf_db(solver, config, params) VALUES ('Evil;x:1\nkey=y', 1, '1'), ('B', 1, '1;C:2'), ('D', "
        "99, '1'), "
        "('', 1, '1'); UPDATE f.config SET in_h = 'x=y' WHERE id = 2");
    const auto records = read_perf_sqlite(db, "p.db");
    ASSERT_TRUE(records.ok()) << records.error().message;
    EXPECT_EQ(records->issues.errors(), 6) << to_lines(records->issues);
    const std::string lines = to_lines(records->issues);
    EXPECT_NE(lines.find("p.db:5: error: perf_db row: the solver's name"), std::string::npos) << lines;
    EXPECT_NE(lines.find("1 rows of perf_db name a config that is not there"), std::string::npos);
    EXPECT_NE(lines.find("config.in_h is no integer"), std::string::npos);
}

TEST(MiopenPerfSqlite, MissingColumnsAndViewsAreRefused) {
    Database column = edited("ALTER TABLE f.perf_db RENAME COLUMN params TO parameters");
    const Status missing = check_perf_schema(column, "p.db");
    ASSERT_FALSE(missing.ok());
    EXPECT_NE(missing.error().message.find("no column params"), std::string::npos);
    Database view = edited("ALTER TABLE f.perf_db RENAME TO q; CREATE VIEW f.perf_db AS SELECT * FROM q");
    EXPECT_FALSE(read_perf_sqlite(view, "p.db").ok());
}

TEST(MiopenPerfSqlite, AKeyThatIsNoConvolutionIsRefusedWithItsLine) {
    const auto bytes = to_perf_sqlite(parse_text(DbKind::kPerf, "bn.db.txt", "\nbatchnorm-key=A:1\n"));
    ASSERT_FALSE(bytes.ok());
    EXPECT_TRUE(bytes.error().message.starts_with("bn.db.txt:2: ")) << bytes.error().message;
}

TEST(MiopenPerfSqlite, ADamagedFileIsCorruption) {
    std::string bytes = *to_perf_sqlite(parse_text(DbKind::kPerf, "p", kText));
    for (std::size_t i = 4096 + 8; i < bytes.size(); i += 7) bytes[i] = '\xff';
    Result<Database> db = deserialize(bytes, "p.db");
    if (db.ok()) {
        const Status status = check_integrity(*db, "p.db");
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().kind, ErrorKind::kCorruption);
    }
    EXPECT_FALSE(deserialize("SQLite format 3", "p.db").ok());
}

}  // namespace
}  // namespace tunefarm::miopen
