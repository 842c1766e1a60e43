// SPDX-License-Identifier: MIT
#include "storage/miopen/tuning_db.h"

#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

const std::string kLine = std::string(kFindKey) + "=GemmFwdRest:0.5,0,miopenConvolutionFwdAlgoGEMM\n";

TEST(MiopenText, AFileWithoutFaultsComesBackByteForByte) {
    const std::string text = large_find_db(50) + "other-key=a<1, 2>:;b:x y [2]+4\n";
    const TuningDb db = parse_text(DbKind::kFind, "f", text);
    EXPECT_EQ(to_lines(db.issues), "");
    EXPECT_EQ(db.records.size(), 51U);
    EXPECT_EQ(db.records.back().items[0].values, "");  // empty VALUES are legal
    EXPECT_EQ(to_text(db), text);
}

TEST(MiopenText, EmptyLinesAndAMissingLastNewlineAreNoFaults) {
    const TuningDb db = parse_text(DbKind::kFind, "f", "\n\n" + kLine.substr(0, kLine.size() - 1));
    EXPECT_EQ(to_lines(db.issues), "");
    ASSERT_EQ(db.records.size(), 1U);
    EXPECT_EQ(db.records[0].line, 3U);
    EXPECT_EQ(to_text(db), kLine);
}

TEST(MiopenText, OfEqualKeysAndEqualIdsTheFirstCountsAndEachPlaceIsNamed) {
    const TuningDb db = parse_text(DbKind::kPerf, "p.db.txt", "k=a:1;b:2;a:3\nk=a:9\n");
    ASSERT_EQ(db.records.size(), 1U);
    EXPECT_EQ(to_text(db), "k=a:1;b:2\n");
    EXPECT_EQ(to_lines(db.issues),
              "p.db.txt:1: error: a second item for 'a'; the library keeps the first\n"
              "p.db.txt:2: error: the key 'k' was there before; the library keeps the first record\n");
}

TEST(MiopenText, WhatTheLibrarySkipsIsNamedWithItsLine) {
    const TuningDb db = parse_text(DbKind::kPerf, "p", "nothing\n=a:1\nk=\nl=a\nm=:1\nn=a:1;;b:2\no=a:1\r\nq=a:1;\n");
    EXPECT_EQ(to_text(db), "n=a:1;b:2\nq=a:1\n");
    EXPECT_EQ(db.issues.errors(), 9);
    const std::string lines = to_lines(db.issues);
    for (const char* place : {"p:1: ", "p:2: ", "p:3: ", "p:4: ", "p:5: ", "p:6: ", "p:7: "}) {
        EXPECT_NE(lines.find(place), std::string::npos) << place;
    }
    EXPECT_EQ(lines.find("p:8: "), std::string::npos);
}

TEST(MiopenText, TwoSolversOfOneAlgorithmAreNoDuplicateInALegacyLine) {
    const std::string item = "miopenConvolutionFwdAlgoDirect:";
    const TuningDb db = parse_text(
        DbKind::kFind, "f",
        "k=" + item + "A,1,0,x,<unused>;" + item + "B,2,0,x,<unused>;" + item + "A,3,0,x,<unused>;" + item + "C,4\n");
    ASSERT_EQ(db.records.size(), 1U);
    EXPECT_EQ(db.records[0].items.size(), 2U);
    EXPECT_EQ(db.issues.errors(), 2);
}

TEST(MiopenText, AMillionItemsInALineAreReadInLinearTime) {
    std::string line = "k=";
    for (int i = 0; i < 200'000; ++i) line += "s" + std::to_string(i % 150'000) + ":1;";
    const TuningDb db = parse_text(DbKind::kPerf, "p", line);
    ASSERT_EQ(db.records.size(), 1U);
    EXPECT_EQ(db.records[0].items.size(), 150'000U);
    EXPECT_EQ(db.issues.errors(), 50'000);
    EXPECT_EQ(db.issues.kept().size(), 1000U);
}

TEST(MiopenText, SortingIsByKeyThenTimeThenSolver) {
    TuningDb db = parse_text(DbKind::kFind, "f",
                             "k_g2=A:2,0,x\nk=B:0.5,0,x;A:0.5,0,x;C:0.25,0,x\n"
                             "k_g128=miopenConvolutionFwdAlgoGEMM:Z,2,0,x,y;miopenConvolutionFwdAlgoFFT:Y,1,0,x,y\n");
    ASSERT_NE(first_unsorted(db), nullptr);
    EXPECT_EQ(first_unsorted(db)->line, 2U);
    sort(db);
    EXPECT_EQ(first_unsorted(db), nullptr);
    EXPECT_EQ(to_text(db),
              "k=C:0.25,0,x;A:0.5,0,x;B:0.5,0,x\n"
              "k_g128=miopenConvolutionFwdAlgoFFT:Y,1,0,x,y;miopenConvolutionFwdAlgoGEMM:Z,2,0,x,y\nk_g2=A:2,0,x\n");
}

TEST(MiopenText, TheFirstKeyTellsFindDbAndPerfDbApart) {
    EXPECT_EQ(guess_kind("\n" + kLine), DbKind::kFind);
    EXPECT_EQ(guess_kind(std::string(kPerfKey) + "=A:1\n"), DbKind::kPerf);
    EXPECT_EQ(guess_kind("conv -n 1\n"), std::nullopt);
    EXPECT_EQ(guess_kind(""), std::nullopt);
}

}  // namespace
}  // namespace tunefarm::miopen
