// SPDX-License-Identifier: MIT
// Real databases, where they are: samples in a folder beside the checkout (or TUNEFARM_MIOPEN_SAMPLES), and complete
// ones, unpacked or not, in the folder that TUNEFARM_MIOPEN_DATABASES names.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "build_paths.h"
#include "storage/miopen/database_file.h"
#include "storage/miopen/find_item.h"
#include "storage/miopen/perf_sqlite.h"
#include "storage/miopen/problem.h"
#include "storage/miopen/sqlite_bytes.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

std::vector<std::string> databases_in(const std::string& folder) {
    std::vector<std::string> paths;
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
        const std::string name = entry.path().filename();
        const bool database = name.find(".fdb.") != std::string::npos || name.find(".db") != std::string::npos;
        if (entry.is_regular_file() && database) paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    return paths;
}

std::string samples() {
    const char* folder = std::getenv("TUNEFARM_MIOPEN_SAMPLES");
    return folder != nullptr ? folder : TUNEFARM_SOURCE_DIR "/../shared/data/miopen/";
}

/// Parses every key and every find-db item, and prints each again.
void expect_parts_come_back(const TuningDb& db) {
    for (const Record& record : db.records) {
        const Result<ConvProblem> problem =
            db.kind() == DbKind::kFind ? parse_find_key(record.key) : parse_perf_key(record.key);
        ASSERT_TRUE(problem.ok()) << problem.error().message;
        ASSERT_EQ(db.kind() == DbKind::kFind ? to_find_key(*problem) : to_perf_key(*problem), record.key);
        if (db.kind() == DbKind::kPerf) continue;
        for (const Item& item : record.items) {
            const Result<FindItem> parsed = parse_find_item(item);
            ASSERT_TRUE(parsed.ok()) << parsed.error().message;
            if (!parsed->legacy) {
                ASSERT_EQ(to_find_values(*parsed), item.values);
            }
        }
    }
}

void expect_round_trip(const std::string& path) {
    SCOPED_TRACE(path);
    Result<DatabaseFile> file = open_database(path);
    ASSERT_TRUE(file.ok()) << file.error().message;
    TuningDb& db = file->db();
    EXPECT_EQ(db.issues.errors(), 0) << to_lines(db.issues);
    EXPECT_GT(db.records.size(), 0U);
    expect_parts_come_back(db);
    if (file->kind != FileKind::kPerfSqlite) {
        if (!file->compressed) {
            EXPECT_TRUE(to_text(db) == content_of(path));
        }
        if (file->kind == FileKind::kFindDb) return;
        sort(db);
    }
    // Through SQLite and back.
    const std::string text = to_text(db);
    const auto bytes = to_perf_sqlite(db);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    auto again = deserialize(*bytes, path);
    ASSERT_TRUE(again.ok());
    const auto back = read_perf_sqlite(*again, path);
    ASSERT_TRUE(back.ok());
    EXPECT_TRUE(to_text(*back) == text);
}

TEST(MiopenShipped, SamplesRoundTrip) {
    const std::vector<std::string> paths = databases_in(samples());
    if (paths.empty()) GTEST_SKIP() << "no sample databases in " << samples();
    EXPECT_GE(paths.size(), 7U);
    for (const std::string& path : paths) expect_round_trip(path);
}

TEST(MiopenShipped, CompleteDatabasesRoundTrip) {
    const char* folder = std::getenv("TUNEFARM_MIOPEN_DATABASES");
    if (folder == nullptr) GTEST_SKIP() << "TUNEFARM_MIOPEN_DATABASES names no folder of MIOpen's databases";
    const std::vector<std::string> paths = databases_in(folder);
    ASSERT_FALSE(paths.empty());
    for (const std::string& path : paths) expect_round_trip(path);
}

}  // namespace
}  // namespace tunefarm::miopen
