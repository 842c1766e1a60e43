// SPDX-License-Identifier: MIT
#include "storage/miopen/check.h"

#include "storage/miopen/bzip2.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

const std::string kGood =
    "ConvBinWinogradRxSf2x3:0.5,0,miopenConvolutionFwdAlgoWinograd;"
    "GemmFwdRest:0.75,1024,miopenConvolutionFwdAlgoGEMM";

class MiopenCheck : public testing::Test {
  protected:
    CheckReport check(const std::string& name, const std::string& content) {
        Result<DatabaseFile> file = open_database(folder_.write(name, content));
        EXPECT_TRUE(file.ok());
        Result<CheckReport> report = check_database(*file);
        EXPECT_TRUE(report.ok());
        return std::move(*report);
    }
    /// The one issue of a find-db line with this content, without file and line.
    std::string issue(const std::string& key, const std::string& items) {
        const CheckReport report = check("gfx942130.HIP.fdb.txt", key + "=" + items + "\n");
        EXPECT_EQ(report.issues.kept().size(), 1U) << to_lines(report.issues);
        return report.issues.kept().empty() ? "" : report.issues.kept()[0].message;
    }
    TemporaryFolder folder_;
};

TEST_F(MiopenCheck, AGoodDatabaseHasNoIssue) {
    const CheckReport report = check("gfx942130.HIP.fdb.txt", std::string(kFindKey) + "=" + kGood + "\n");
    EXPECT_EQ(to_lines(report.issues), "");
    EXPECT_TRUE(report.keys_sorted && report.items_by_time);
    EXPECT_EQ(report.items, 2);
}

TEST_F(MiopenCheck, WhatCannotBeIsNamed) {
    const std::string key = kFindKey;
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    EXPECT_TRUE(has(issue("nonsense", kGood), "parts between '-'"));
    EXPECT_TRUE(has(issue(key, "GemmFwdRest:0.0,0,miopenConvolutionFwdAlgoGEMM"), "0.0 ms is none"));
    EXPECT_TRUE(has(issue(key, "GemmFwdRest:-1,0,miopenConvolutionFwdAlgoGEMM"), "-1 ms is none"));
    EXPECT_TRUE(has(issue(key, "GemmFwdRest:4e6,0,miopenConvolutionFwdAlgoGEMM"), "4e6 ms is none"));
    EXPECT_TRUE(has(issue(key, "GemmFwdRest:x,0,miopenConvolutionFwdAlgoGEMM"), "no finite number"));
    EXPECT_TRUE(has(issue(key, "GemmFwdRest:1,2000000000000,miopenConvolutionFwdAlgoGEMM"), "no GPU has a workspace"));
    EXPECT_TRUE(has(issue(key, "GemmFwdRest:1,0,miopenConvolutionBwdDataAlgoGEMM"), "another direction"));
    EXPECT_TRUE(has(issue(key, "GemmFwdRest:1,0,Fast"), "no algorithm of MIOpen"));
    EXPECT_TRUE(has(issue(key, "ConvNew:1,0,miopenConvolutionFwdAlgoGEMM"), "has no solver 'ConvNew'"));
    EXPECT_TRUE(has(issue(key, "miopenConvolutionFwdAlgoGEMM:GemmFwdRest,1,0,x,y"), "1 items in the legacy format"));
    EXPECT_TRUE(has(issue("64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F_g3", kGood), "groups do not divide"));
    EXPECT_TRUE(has(issue("64-0-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F", kGood), "input size is not positive"));
}

TEST_F(MiopenCheck, OrderIsSeen) {
    const std::string line =
        "=GemmFwdRest:2,0,miopenConvolutionFwdAlgoGEMM;ConvDirectNaiveConvFwd:1,0,miopenConvolutionFwdAlgoDirect\n";
    const CheckReport report = check("gfx942130.HIP.fdb.txt", kFindKey + line + "10" + (kFindKey + line));
    EXPECT_FALSE(report.keys_sorted);
    EXPECT_FALSE(report.items_by_time);
}

TEST_F(MiopenCheck, FusionAndBatchnormKeysAreNotJudgedAsConvolutions) {
    EXPECT_EQ(to_lines(check("gfx942130.HIP.fusion.fdb.txt", "a+b=ConvX:1,0,fusion\n").issues), "");
    EXPECT_EQ(to_lines(check("batchnorm_gfx942130.db.txt", "2x16x64=BnX:1\n").issues), "");
}

TEST_F(MiopenCheck, EveryTunableItemNeedsItsRowAndNoOtherMayHaveOne) {
    const TuningDb find = parse_text(DbKind::kFind, "f",
                                     std::string(kFindKey) + "=" + kGood + ";ConvNew:2,0,miopenConvolutionFwdAlgoGEMM" +
                                         ";ConvAsm3x3U:2,0,miopenConvolutionFwdAlgoDirect\n");
    const std::string key = kPerfKey;
    CheckReport report;
    check_references(find, parse_text(DbKind::kPerf, "p", key + "=ConvBinWinogradRxSf2x3:1\n"), report);
    EXPECT_EQ(report.total().found, 1);
    EXPECT_EQ(report.total().missing, 1);
    EXPECT_EQ(report.references["ConvAsm3x3U"].missing, 1);
    EXPECT_EQ(report.issues.errors(), 1);

    CheckReport other;
    check_references(find, parse_text(DbKind::kPerf, "p", key + "=GemmFwdRest:1;ConvAsm3x3U:1\nq=ConvNew:1\n"), other);
    EXPECT_EQ(other.total().found, 1);
    EXPECT_EQ(other.total().missing, 2);  // ConvNew has rows, so it is tunable
    EXPECT_NE(to_lines(other.issues).find("p:1: error: GemmFwdRest has no parameters, but a row"), std::string::npos);
}

TEST_F(MiopenCheck, AKernelDbsRowsAndSettingsAreChecked) {
    Result<KernelDbWriter> writer = KernelDbWriter::create();
    KernelRow forged = kernel_row("b.s.o", " -mcpu=gfx906", "object");
    forged.hash = std::string(32, '0');
    ASSERT_TRUE(writer->add(kernel_row("a.s.o", " -mcpu=gfx906", "object")).ok());
    ASSERT_TRUE(writer->add(forged).ok());
    const CheckReport report = check("gfx906.kdb", *writer->finish());
    EXPECT_EQ(report.keys, 2);
    EXPECT_EQ(report.items, 1);
    EXPECT_EQ(report.issues.errors(), 1);
    EXPECT_NE(to_lines(report.issues).find("gfx906.kdb:2: error: kern_db row (b.s.o): the MD5"), std::string::npos);
}

}  // namespace
}  // namespace tunefarm::miopen
