// SPDX-License-Identifier: MIT
#include "storage/miopen/merge.h"

#include "storage/miopen/diff.h"
#include "storage/miopen/filter.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

using Rule = MergeOptions::Rule;
using Unit = MergeOptions::Unit;

const std::string kOther = "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-B";

TuningDb find_db(const char* name, const std::string& text) {
    TuningDb db = parse_text(DbKind::kFind, name, text);
    EXPECT_EQ(to_lines(db.issues), "");
    return db;
}

std::string merged(const std::vector<TuningDb>& inputs, const MergeOptions& options,
                   const std::vector<TuningDb>& times = {}, std::size_t conflicts = 0) {
    std::vector<const TuningDb*> list;
    std::vector<const TuningDb*> time_list;
    for (const TuningDb& db : inputs) list.push_back(&db);
    for (const TuningDb& db : times) time_list.push_back(&db);
    const Result<Merged> result = merge(list, time_list, options);
    if (!result.ok()) return result.error().message;
    EXPECT_EQ(result->conflicts.size(), conflicts);
    return to_text(result->db);
}

class MiopenMerge : public testing::Test {
  protected:
    std::vector<TuningDb> inputs_ = {find_db("old", "k=A:1,0,x;B:3,0,x\nl=A:1,0,x\n"),
                                     find_db("new", "k=A:2,0,x;C:0.5,0,x\nm=D:1,0,x\n")};
};

TEST_F(MiopenMerge, BestTimePerSolverTakesTheFasterOfEach) {
    EXPECT_EQ(merged(inputs_, {Rule::kBestTime, Unit::kSolver, 0}, {}, 1),
              "k=C:0.5,0,x;A:1,0,x;B:3,0,x\nl=A:1,0,x\nm=D:1,0,x\n");
}

TEST_F(MiopenMerge, NewestPerSolverTakesTheLater) {
    EXPECT_EQ(merged(inputs_, {Rule::kNewest, Unit::kSolver, 0}, {}, 1),
              "k=C:0.5,0,x;A:2,0,x;B:3,0,x\nl=A:1,0,x\nm=D:1,0,x\n");
}

TEST_F(MiopenMerge, PerKeyTakesWholeRecords) {
    EXPECT_EQ(merged(inputs_, {Rule::kBestTime, Unit::kKey, 0}, {}, 1), "k=C:0.5,0,x;A:2,0,x\nl=A:1,0,x\nm=D:1,0,x\n");
    std::swap(inputs_[0], inputs_[1]);
    EXPECT_EQ(merged(inputs_, {Rule::kNewest, Unit::kKey, 0}, {}, 1), "k=A:1,0,x;B:3,0,x\nl=A:1,0,x\nm=D:1,0,x\n");
}

TEST_F(MiopenMerge, KeepLeavesTheFastest) {
    EXPECT_EQ(merged(inputs_, {Rule::kBestTime, Unit::kSolver, 2}, {}, 1),
              "k=C:0.5,0,x;A:1,0,x\nl=A:1,0,x\nm=D:1,0,x\n");
}

TEST_F(MiopenMerge, ADatabaseWithItselfIsItselfWithoutConflict) {
    EXPECT_EQ(merged({inputs_[0], inputs_[0]}, {Rule::kBestTime, Unit::kSolver, 0}), to_text(inputs_[0]));
}

TEST_F(MiopenMerge, ConflictsNameBothSides) {
    const Result<Merged> result = merge({&inputs_[0], &inputs_[1]}, {}, {});
    ASSERT_TRUE(result.ok());
    ASSERT_EQ(result->conflicts.size(), 1U);
    const Conflict& conflict = result->conflicts[0];
    EXPECT_EQ(conflict.key + " " + conflict.solver, "k A");
    EXPECT_EQ(conflict.kept_file + " " + conflict.kept, "old 1,0,x");
    EXPECT_EQ(conflict.dropped_file + " " + conflict.dropped, "new 2,0,x");
}

TEST_F(MiopenMerge, PerfRowsGoByTheTimesOfTheirFindDbs) {
    const std::string perf = kPerfKey;
    const std::vector<TuningDb> rows = {parse_text(DbKind::kPerf, "old", perf + "=S:1;T:1\n"),
                                        parse_text(DbKind::kPerf, "new", perf + "=S:2;T:2\n")};
    const std::vector<TuningDb> times = {find_db("old", std::string(kFindKey) + "=S:1,0,x;T:5,0,x\n"),
                                         find_db("new", std::string(kFindKey) + "=S:2,0,x;T:4,0,x\n")};
    EXPECT_EQ(merged(rows, {Rule::kBestTime, Unit::kSolver, 0}, times, 2), perf + "=S:1;T:2\n");
    EXPECT_EQ(merged(rows, {Rule::kNewest, Unit::kSolver, 0}, {}, 2), perf + "=S:2;T:2\n");
    EXPECT_NE(merged(rows, {Rule::kBestTime, Unit::kSolver, 0}).find("hold no times"), std::string::npos);
    EXPECT_NE(merged(rows, {Rule::kNewest, Unit::kSolver, 1}).find("no times to keep"), std::string::npos);
    EXPECT_NE(merged({rows[0], times[0]}, {}).find("cannot become one"), std::string::npos);
}

TEST(MiopenDiff, EachKindOfChangeIsSeen) {
    const TuningDb before =
        find_db("before", "a=S:1,0,x\nb=S:1,0,x\nc=S:1,0,x\nd=S:1,0,x\ne=S:1,0,x;T:2,0,x\nf=S:1,0,x\n");
    const TuningDb after =
        find_db("after", "b=S:1.04,0,x\nc=S:1.06,0,x\nd=S:0.9,0,x\ne=T:1.01,0,x\nf=S:1,0,x\ng=S:3,0,x\n");
    const Result<Diff> result = diff(before, after, 0.05);
    ASSERT_TRUE(result.ok());
    std::string seen;
    for (const Change& change : result->changes) {
        seen += change.key + ":" + to_string(change.kind) + (change.solver_changed ? "! " : " ");
    }
    EXPECT_EQ(seen, "a:removed c:slower d:faster e:within! g:added ");
    EXPECT_EQ(result->common, 5);
    EXPECT_EQ(result->equal, 2);
    EXPECT_EQ(result->identical, 1);
    EXPECT_EQ(result->solver_changes(), 1);
    EXPECT_NEAR(result->time_ratio, 1.0005, 0.0005);
}

TEST(MiopenDiff, ADatabaseWithNegativeAndZeroTimesEqualsItself) {
    const TuningDb db = find_db("db", "a=S:-0.05,0,x\nb=S:0.0,0,x\nc=S:1,0,x\n");
    const Result<Diff> result = diff(db, db, 0.05);
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result->changes.empty());
    EXPECT_EQ(result->identical, 3);
    EXPECT_EQ(result->time_ratio, 1);
}

TEST(MiopenDiff, PerfRowsAreComparedByParameters) {
    const TuningDb before = parse_text(DbKind::kPerf, "before", "a=S:1;T:2\nb=S:1\n");
    const TuningDb after = parse_text(DbKind::kPerf, "after", "a=S:1;T:3;U:4\n");
    const Result<Diff> result = diff(before, after, 0.05);
    ASSERT_TRUE(result.ok());
    std::string seen;
    for (const Change& change : result->changes)
        seen += change.key + change.after_solver + ":" + to_string(change.kind) + " ";
    EXPECT_EQ(seen, "aT:parameters aU:added bS:removed ");
    EXPECT_FALSE(diff(before, find_db("f", "a=S:1,0,x\n"), 0.05).ok());
}

class MiopenFilter : public testing::Test {
  protected:
    std::string filtered(const Filter& options) {
        TuningDb db = find_db("f", std::string(kFindKey) + "=GemmA:1,0,x;ConvB:2,0,x\n" + kOther + "=ConvB:1,0,x\n");
        const Status status = filter(db, options);
        if (!status.ok()) return status.error().message;
        std::string left;
        for (const Record& record : db.records) {
            left += record.key.back();
            for (const Item& item : record.items) left += " " + std::string(item.id);
            left += ";";
        }
        return left;
    }
};

TEST_F(MiopenFilter, SelectsByWhatTheKeySays) {
    EXPECT_EQ(filtered({}), "F GemmA ConvB;B ConvB;");
    Filter filter;
    filter.directions = "BW";
    EXPECT_EQ(filtered(filter), "B ConvB;");
    filter = {};
    filter.types = {DataType::kFp32};
    EXPECT_EQ(filtered(filter), "F GemmA ConvB;");
    filter = {};
    filter.layouts = {"NHWC"};
    EXPECT_EQ(filtered(filter), "B ConvB;");
    filter = {};
    filter.spatial_dims = 3;
    EXPECT_EQ(filtered(filter), "");
}

TEST_F(MiopenFilter, SelectsSolversAndDropsEmptyKeys) {
    Filter filter;
    filter.solvers = {"Gemm*"};
    EXPECT_EQ(filtered(filter), "F GemmA;");
    filter = {};
    filter.not_solvers = {"ConvB"};
    EXPECT_EQ(filtered(filter), "F GemmA;");
    filter = {};
    filter.keep = 1;
    EXPECT_EQ(filtered(filter), "F GemmA;B ConvB;");
}

TEST_F(MiopenFilter, KeysOfAnotherDatabaseOfEitherKind) {
    const TuningDb perf = parse_text(DbKind::kPerf, "p", std::string(kPerfKey) + "=A:1\n");
    Filter filter;
    filter.keys_of = &perf;
    EXPECT_EQ(filtered(filter), "F GemmA ConvB;");
    const TuningDb find = find_db("other", kOther + "=ConvB:1,0,x\n");
    filter.keys_of = &find;
    EXPECT_EQ(filtered(filter), "B ConvB;");
    const TuningDb broken = parse_text(DbKind::kPerf, "p", "\nnokey=A:1\n");
    filter.keys_of = &broken;
    EXPECT_TRUE(filtered(filter).starts_with("p:2: ")) << filtered(filter);
}

}  // namespace
}  // namespace tunefarm::miopen
