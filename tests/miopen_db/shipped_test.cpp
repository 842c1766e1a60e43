// SPDX-License-Identifier: MIT
// Real databases, where they are: samples in a folder beside the checkout (or TUNEFARM_MIOPEN_SAMPLES), and complete
// ones, unpacked or not, in the folder that TUNEFARM_MIOPEN_DATABASES names.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "build_paths.h"
#include "storage/miopen/database_file.h"
#include "storage/miopen/driver_command.h"
#include "storage/miopen/find_item.h"
#include "storage/miopen/perf_sqlite.h"
#include "storage/miopen/problem.h"
#include "storage/miopen/problem_list.h"
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

/// The driver's command for a key's problem, read again, has the key.
void expect_commands_come_back(const TuningDb& db) {
    std::size_t commands = 0;
    for (const Record& record : db.records) {
        const Result<ConvProblem> problem = parse_find_key(record.key);
        ASSERT_TRUE(problem.ok());
        const auto command = to_driver_command(*problem);
        if (!command) continue;
        ++commands;
        const Result<DriverLine> line = parse_driver_line(*command);
        ASSERT_TRUE(line.ok()) << *command << ": " << line.error().message;
        ASSERT_EQ(line->problems.size(), 1U);
        ASSERT_EQ(name_of(line->problems[0]), record.key) << *command;
    }
    // Data types without a base argument and padding modes of the library's callers are rare.
    EXPECT_GT(10 * commands, 9 * db.records.size());
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
        if (file->kind == FileKind::kFindDb) return expect_commands_come_back(db);
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

TEST(MiopenShipped, SampleListsAreProblems) {
    std::vector<std::string> paths;
    std::error_code code;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(samples(), code)) {
        const std::string name = entry.path().filename();
        const bool list = name.starts_with("mituna_") || name == "miopen_repo_driver_cmds.txt" ||
                          entry.path().parent_path().filename() == "perf_models";
        if (list) paths.push_back(entry.path());
    }
    if (paths.empty()) GTEST_SKIP() << "no sample lists in " << samples();
    for (const std::string& path : paths) {
        SCOPED_TRACE(path);
        ProblemList list;
        list.add_commands(path, content_of(path));
        EXPECT_EQ(to_lines(list.issues), "");
        EXPECT_FALSE(list.finish().empty());
    }
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
