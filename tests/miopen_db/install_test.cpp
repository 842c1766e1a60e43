// SPDX-License-Identifier: MIT
#include "storage/miopen/install.h"

#include <filesystem>

#include "storage/miopen/convert.h"
#include "storage/miopen/perf_sqlite.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

const std::string kFindText = std::string(kFindKey) + "=GemmFwdRest:1,0,miopenConvolutionFwdAlgoGEMM\n";
const std::string kPerfText = std::string(kPerfKey) + "=ConvAsm3x3U:1\n";

class MiopenInstall : public testing::Test {
  protected:
    void add(const std::string& name, const std::string& content) {
        Result<DatabaseFile> file = open_database(source_.write(name, content));
        ASSERT_TRUE(file.ok()) << file.error().message;
        files_.push_back(std::move(*file));
    }
    /// "name<source " for each file of the plan; '~' marks the nearest count's.
    std::string planned() {
        const auto plan = plan_installation(files_, options_);
        if (!plan.ok()) return plan.error().message;
        std::string text;
        for (const InstalledFile& file : *plan) {
            text += file.name + (file.nearest ? "~" : "<") + std::string(name_part(file.source)) + " ";
        }
        return text;
    }
    TemporaryFolder source_;
    TemporaryFolder root_;
    std::vector<DatabaseFile> files_;
    InstallOptions options_{root_.path("dest"), "/usr", {}, {}, false};
};

TEST_F(MiopenInstall, UserDatabasesGetTheirSystemNames) {
    add("gfx942130.HIP.3_3_0_ab.ufdb.txt", kFindText);
    add("gfx942130_1.1.0.udb", *to_perf_sqlite(parse_text(DbKind::kPerf, "p", kPerfText)));
    EXPECT_EQ(planned(), "gfx942130.HIP.fdb.txt<gfx942130.HIP.3_3_0_ab.ufdb.txt gfx942130.db<gfx942130_1.1.0.udb ");
}

TEST_F(MiopenInstall, EachChosenCountGetsAFileOfItsOwn) {
    add("gfx942130.db.txt", kPerfText);
    add("gfx94250.db.txt", kPerfText);
    options_.cu_counts = {304, 228, 80, 64};
    EXPECT_EQ(planned(),
              "gfx942130.db.txt<gfx942130.db.txt gfx94250.db.txt<gfx94250.db.txt "
              "gfx942_64.db.txt~gfx94250.db.txt gfx942e4.db.txt~gfx942130.db.txt ");
}

TEST_F(MiopenInstall, PartsWithTwoNamesGetBoth) {
    add("gfx1151_20.db.txt", kPerfText);
    options_.cu_counts = {20};
    EXPECT_EQ(planned(), "gfx115128.db.txt<gfx1151_20.db.txt gfx1151_20.db.txt<gfx1151_20.db.txt ");
}

TEST_F(MiopenInstall, OnlyChosenArchitecturesAndNoneMayBeMissing) {
    add("gfx942130.db.txt", kPerfText);
    add("gfx90a68.db.txt", kPerfText);
    options_.archs = {"gfx90a"};
    EXPECT_EQ(planned(), "gfx90a68.db.txt<gfx90a68.db.txt ");
    options_.archs = {"gfx90a", "gfx950"};
    EXPECT_EQ(planned(), "no file is for the chosen architecture gfx950");
}

TEST_F(MiopenInstall, TwoFilesForOneNameAreRefused) {
    add("gfx942130.HIP.fdb.txt", kFindText);
    add("gfx942130.HIP.3_3_0_ab.ufdb.txt", kFindText);
    EXPECT_NE(planned().find("would both be gfx942130.HIP.fdb.txt; merge them first"), std::string::npos);
}

TEST_F(MiopenInstall, AFileWithErrorsIsRefusedWithItsLine) {
    add("gfx942130.HIP.fdb.txt", kFindText + "broken\n");
    EXPECT_NE(planned().find("gfx942130.HIP.fdb.txt:2: error: no key"), std::string::npos) << planned();
    options_.drop_ignored = true;
    EXPECT_EQ(planned(), "gfx942130.HIP.fdb.txt<gfx942130.HIP.fdb.txt ");
}

TEST_F(MiopenInstall, FilesGoBelowDestdirAndPrefix) {
    add("gfx942130.HIP.fdb.txt", kFindText);
    const auto plan = plan_installation(files_, options_);
    ASSERT_TRUE(plan.ok());
    const Result<std::string> directory = install(*plan, options_);
    ASSERT_TRUE(directory.ok()) << directory.error().message;
    EXPECT_EQ(*directory, root_.path("dest/usr/share/miopen/db"));
    EXPECT_EQ(content_of(*directory + "/gfx942130.HIP.fdb.txt"), kFindText);
    options_.prefix = "usr";
    EXPECT_FALSE(install(*plan, options_).ok());
}

TEST_F(MiopenInstall, AFailureInTheMiddleLeavesEverythingAsItWas) {
    add("gfx942130.HIP.fdb.txt", kFindText);
    add("gfx942130.db.txt", kPerfText);
    const std::string directory = root_.path("dest/usr/share/miopen/db");
    ASSERT_TRUE(make_directories(directory + "/gfx942130.db.txt").ok());  // a directory: the second rename fails
    ASSERT_TRUE(write_file_atomically(directory + "/gfx942130.HIP.fdb.txt", "before").ok());
    const auto plan = plan_installation(files_, options_);
    ASSERT_TRUE(plan.ok());
    EXPECT_FALSE(install(*plan, options_).ok());
    EXPECT_EQ(content_of(directory + "/gfx942130.HIP.fdb.txt"), "before");
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++files;
    EXPECT_EQ(files, 2U);
}

TEST(MiopenConvert, KindsThatDoNotFitAreRefused) {
    const TuningDb find = parse_text(DbKind::kFind, "f", kFindText);
    EXPECT_FALSE(to_bytes(find, FileKind::kPerfText, false).ok());
    EXPECT_FALSE(to_bytes(find, FileKind::kPerfSqlite, false).ok());
    EXPECT_FALSE(to_bytes(parse_text(DbKind::kPerf, "p", kPerfText), FileKind::kFindDb, false).ok());
}

TEST(MiopenConvert, ErrorsStopUnlessTheyMayBeDropped) {
    const TuningDb find = parse_text(DbKind::kFind, "f", "x\n" + kFindText);
    const auto refused = to_bytes(find, FileKind::kFindDb, false);
    ASSERT_FALSE(refused.ok());
    EXPECT_TRUE(refused.error().message.starts_with("f:1: error: no key")) << refused.error().message;
    EXPECT_EQ(*to_bytes(find, FileKind::kFindDb, true), kFindText);
}

}  // namespace
}  // namespace tunefarm::miopen
