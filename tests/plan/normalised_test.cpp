// SPDX-License-Identifier: MIT
#include "coordinator/plan/normalised.h"

#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

TEST(Normalised, AnchorsMergesAndScalarsAreResolvedInFileOrder) {
    EXPECT_EQ(
        normalised_json(must_load("anchors.yaml")),
        R"({"Toolchain":"gemm","GlobalParameters":{},"BenchmarkProblems":[[{"OperationType":"GEMM","DataType":"S","Batched":true,)"
        R"("TransposeA":true,"TransposeB":false},{"BenchmarkFinalParameters":[{"ProblemSizes":[{"Exact":[64,64,1,64]}]}],)"
        R"("ForkParameters":[{"ThreadTile":[[16,16],[32,32]]},{"DepthU":[8,16]}]}]]})");
}

TEST(Normalised, LayoutLeavesNoTrace) {
    const auto a = parse_config(
        "BenchmarkProblems: [[{DataType: S, Batched: yes}, {ForkParameters: [{GlobalReadPerMfma: [1.0, 0x10]}]}]]\n",
        "a");
    const auto b = parse_config(
        "# other\n.x: &v [1.00, 16]\nToolchain: 'tensilelite'\nBenchmarkProblems:\n- - DataType: \"S\"\n    Batched: "
        "True\n"
        "  - ForkParameters:\n    - GlobalReadPerMfma: *v\nLibraryLogic:\nTestParameters: {marks: [x]}\n",
        "b");
    ASSERT_TRUE(a.ok()) << a.error().message;
    ASSERT_TRUE(b.ok()) << b.error().message;
    EXPECT_EQ(normalised_json(*a), normalised_json(*b));
    EXPECT_NE(normalised_json(*a).find("[1.0,16]"), std::string::npos);
}

TEST(Normalised, ValuesThatDifferStayDifferent) {
    EXPECT_NE(normalised_json(*one_step("{ForkParameters: [{A: [1]}]}")),
              normalised_json(*one_step("{ForkParameters: [{A: [1.0]}]}")));
    EXPECT_NE(normalised_json(*one_step("{ForkParameters: [{A: [1]}]}")),
              normalised_json(*one_step("{ForkParameters: [{A: ['1']}]}")));
}

TEST(Normalised, TextIsEscapedForJson) {
    auto tree = parse_yaml(R"(["a\"b\\c\n\x01é"])", "t");
    ASSERT_TRUE(tree.ok());
    EXPECT_EQ(to_json((*tree)->root()), R"(["a\"b\\c\n\u0001é"])");
}

TEST(Locate, FindsNamesInListsOfMapsAndListItems) {
    const Config config = must_load("two_types.yaml");
    EXPECT_EQ(locate(config, "BenchmarkProblems[0][1].ForkParameters.DepthU"), (Mark{9, 11}));
    EXPECT_EQ(locate(config, "BenchmarkProblems[0][1].ForkParameters.DepthU[1]"), (Mark{9, 23}));
    EXPECT_EQ(locate(config, "BenchmarkProblems[0][1].ForkParameters[1].MacroTile0"), (Mark{10, 11}));
    EXPECT_EQ(locate(config, "BenchmarkProblems[1][0].DataType"), (Mark{21, 29}));
    EXPECT_EQ(locate(config, "GlobalParameters.NumWarmups"), (Mark{2, 20}));
}

TEST(Locate, RepeatedNameMeansItsLastMap) {
    EXPECT_EQ(locate(must_load("two_types.yaml"), "BenchmarkProblems[0][1].ForkParameters.MacroTile0"), (Mark{11, 11}));
}

TEST(Locate, UsesTheDeepestPartThatExists) {
    const Config config = must_load("two_types.yaml");
    EXPECT_EQ(locate(config, "BenchmarkProblems[0][1].ForkParameters.Nope[3]"), (Mark{8, 7}));
    EXPECT_EQ(locate(config, "BenchmarkProblems[0][9]"), (Mark{4, 5}));
    for (const char* path : {"", "Nope", "[0]", ".", "[", "[99999999999999999999]"})
        EXPECT_EQ(locate(config, path), std::nullopt) << path;
    EXPECT_EQ(place_of(config, "Nope"), config.path);
    EXPECT_EQ(place_of(config, "GlobalParameters"), config.path + ":2:1");
}

TEST(Refusal, NamesPlaceKeyAndWhatIsAllowed) {
    const Config config = must_load("two_types.yaml");
    EXPECT_EQ(refusal_text(config, "GlobalParameters", "is odd", "1, 2"),
              config.path + ":2:1: GlobalParameters: is odd; allowed: 1, 2");
    EXPECT_EQ(refusal_text(config, "", "is odd", ""), config.path + ": is odd");
}

}  // namespace
}  // namespace tunefarm::plan
