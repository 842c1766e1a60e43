// SPDX-License-Identifier: MIT
// Every ```sql block of docs/storage.md runs on a small farm and finds something.
#include "build_paths.h"
#include "storage/schema.h"
#include "tests/storage/fixtures.h"

namespace tunefarm::storage::test {
namespace {

std::vector<std::string> sql_blocks(const std::string& page) {
    std::vector<std::string> blocks;
    const std::string begin = "```sql\n";
    for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
        at += begin.size();
        const std::size_t end = page.find("```", at);
        blocks.push_back(page.substr(at, end - at));
        at = end;
    }
    return blocks;
}

TEST(Documentation, QueriesOfTheStoragePageWork) {
    const TemporaryDirectory dir;
    write(dir / "db", small_farm());
    Database db = Database::open_readonly(dir / "db").value();
    const auto page = read_file(TUNEFARM_SOURCE_DIR "/docs/storage.md", 1 << 20);
    ASSERT_OK(page);
    const auto blocks = sql_blocks(*page);
    EXPECT_GE(blocks.size(), 5U);
    for (const std::string& sql : blocks) {
        Result<Statement> query = db.prepare(sql);
        ASSERT_TRUE(query.ok()) << sql << query.error().message;
        const Result<bool> row = query->step();
        ASSERT_TRUE(row.ok()) << sql << row.error().message;
        EXPECT_TRUE(*row) << "no rows: " << sql;
    }
}

TEST(Documentation, StoragePageNamesEveryTableAndView) {
    const TemporaryDirectory dir;
    write(dir / "db", {});
    const std::string page = read_file(TUNEFARM_SOURCE_DIR "/docs/storage.md", 1 << 20).value();
    Database db = Database::open_readonly(dir / "db").value();
    Statement names = db.prepare("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')").value();
    while (names.step().value()) {
        EXPECT_NE(page.find("`" + names.text(0) + "`"), std::string::npos) << names.text(0);
    }
    Statement columns =
        db.prepare("SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table'")
            .value();
    while (columns.step().value()) {
        EXPECT_NE(page.find(columns.text(1)), std::string::npos) << columns.text(0) << "." << columns.text(1);
    }
}

}  // namespace
}  // namespace tunefarm::storage::test
