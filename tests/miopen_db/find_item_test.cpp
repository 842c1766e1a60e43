// SPDX-License-Identifier: MIT
#include "storage/miopen/find_item.h"

#include "storage/miopen/solvers.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

TEST(MiopenFindItem, BothFormatsSayTheSame) {
    const auto now = parse_find_item({"GemmFwdRest", "0.059578,13714688,miopenConvolutionFwdAlgoGEMM"});
    const auto before = parse_find_item(
        {"miopenConvolutionFwdAlgoGEMM", "GemmFwdRest,0.059578,13714688,miopenConvolutionFwdAlgoGEMM,<unused>"});
    ASSERT_TRUE(now.ok() && before.ok());
    EXPECT_EQ(now->time_ms, 0.059578);
    EXPECT_EQ(now->workspace, 13714688);
    EXPECT_FALSE(now->legacy);
    EXPECT_TRUE(before->legacy);
    EXPECT_EQ(to_find_values(*now), to_find_values(*before));
    EXPECT_EQ(now->solver, before->solver);
}

TEST(MiopenFindItem, NumbersAreChecked) {
    for (const char* values : {"", "1", "1,2", "x,0,a", "1,-1,a", "1,1.5,a", "nan,0,a", "inf,0,a", "1,0,a,b", "1 ,0,a",
                               "1e999,0,a", "1,99999999999999999999,a"}) {
        EXPECT_FALSE(parse_find_item({"S", values}).ok()) << values;
    }
    EXPECT_TRUE(parse_find_item({"S", "-1.5e-3,0,a"}).ok());
    EXPECT_FALSE(parse_find_item({"miopenConvolutionFwdAlgoGEMM", ",1,0,a,b"}).ok());
}

TEST(MiopenFindItem, ALegacyDatabaseBecomesFormat2) {
    const TuningDb legacy =
        parse_text(DbKind::kFind, "old",
                   "k=miopenConvolutionFwdAlgoGEMM:Gemm,0.5,16,miopenConvolutionFwdAlgoGEMM,not used;New:0.25,0,x\n"
                   "l=miopenConvolutionFwdAlgoGEMM:Gemm,fast,16,x,y\n");
    const TuningDb now = to_format_2(legacy);
    EXPECT_EQ(to_text(now), "k=Gemm:0.5,16,miopenConvolutionFwdAlgoGEMM;New:0.25,0,x\n");
    ASSERT_EQ(now.issues.errors(), 1);
    EXPECT_TRUE(to_lines(now.issues).starts_with("old:2: error: ")) << to_lines(now.issues);
}

TEST(MiopenSolvers, AlgorithmsAndSolversAreKnownByName) {
    EXPECT_EQ(algorithm_direction("miopenConvolutionFwdAlgoFFT"), 'F');
    EXPECT_EQ(algorithm_direction("miopenTransposeBwdDataAlgoGEMM"), 'B');
    EXPECT_EQ(algorithm_direction("miopenConvolutionBwdWeightsAlgoImplicitGEMM"), 'W');
    EXPECT_EQ(algorithm_direction("miopenConvolutionBwdWeightsAlgoFFT"), std::nullopt);
    EXPECT_EQ(algorithm_direction("miopenConvolutionFwdAlgo"), std::nullopt);
    EXPECT_EQ(find_solver("ConvOclDirectFwd1x1"), SolverKind::kTunable);
    EXPECT_EQ(find_solver("GemmFwdRest"), SolverKind::kNotTunable);
    EXPECT_EQ(find_solver("ConvOclDirectFwdFused"), SolverKind::kFused);
    EXPECT_EQ(find_solver("ConvOclDirectFwd3x3"), std::nullopt);
}

}  // namespace
}  // namespace tunefarm::miopen
