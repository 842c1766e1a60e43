// SPDX-License-Identifier: MIT
#include "coordinator/plan/config.h"

#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

TEST(Config, EachGroupOfAnEntryIsAStep) {
    const Config config = must_load("two_types.yaml");
    ASSERT_EQ(config.steps.size(), 3u);
    EXPECT_EQ(config.toolchain, "gemm");
    EXPECT_EQ(config.steps[1].entry, 0u);
    EXPECT_EQ(config.steps[1].group, 1u);
    EXPECT_EQ(config.steps[2].entry, 1u);
    EXPECT_EQ(config.steps[2].group, 0u);
    EXPECT_EQ(config.steps[2].index, 2u);
    EXPECT_EQ(config.steps[0].problem, "GEMM NN S batched");
    EXPECT_EQ(config.steps[2].problem, "GEMM NT D batched");
}

TEST(Config, RepeatedForkKeyKeepsItsLastValueAtItsFirstPlace) {
    const Config config = must_load("two_types.yaml");
    ASSERT_EQ(config.steps[0].forks.size(), 2u);
    EXPECT_EQ(config.steps[0].forks[1].name, "MacroTile0");
    EXPECT_EQ(config.steps[0].forks[1].values.size(), 3u);
}

TEST(Config, ForkParametersReplaceCommonOnesAndCommonOnesForkToo) {
    // DepthU 2 (not 3, not 6) x VectorWidth 2 x MacroTile0 3 x group axis 2.
    EXPECT_EQ(must_load("two_types.yaml").steps[0].fork_permutations, 24u);
}

TEST(Config, NullForkParametersAreOnePermutation) {
    EXPECT_EQ(must_load("two_types.yaml").steps[1].fork_permutations, 1u);
}

TEST(Config, MissingFinalParametersMeanTheDefaultSizes) {
    const Config config = must_load("two_types.yaml");
    EXPECT_EQ(config.steps[2].problem_sizes.entries, 1u);
    EXPECT_EQ(config.steps[2].problem_sizes.sizes.size(), 4u);
    EXPECT_EQ(config.steps[0].problem_sizes.entries, 3u);
    EXPECT_EQ(config.steps[0].problem_sizes.sizes.size(), 3u);
}

TEST(Config, AnchorsUnderIgnoredKeysWork) {
    const Config config = must_load("anchors.yaml");
    ASSERT_EQ(config.steps.size(), 1u);
    EXPECT_EQ(config.steps[0].fork_permutations, 4u);
    EXPECT_EQ(config.steps[0].problem, "GEMM TN S batched");
    EXPECT_EQ(config.steps[0].problem_sizes.sizes, (std::vector<Size>{{64, 64, 1, 64}}));
}

TEST(Config, MarksAndCustomKernelsAreKept) {
    const auto config = one_step("{CustomKernels: [a_1, b-2], InternalSupportParams: {KernArgsVersion: 2}}",
                                 "TestParameters: {marks: [skip-gfx942, slow]}");
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(config->marks, (std::vector<std::string>{"skip-gfx942", "slow"}));
    EXPECT_EQ(config->steps[0].custom_kernels, (std::vector<std::string>{"a_1", "b-2"}));
    EXPECT_EQ(config->toolchain, "tensilelite");
}

TEST(Config, EveryBackendButTensileIsResultDriven) {
    EXPECT_FALSE(one_step("{}")->steps[0].result_driven);
    EXPECT_FALSE(one_step("{}", "Backend: {Name: tensile}")->steps[0].result_driven);
    EXPECT_TRUE(one_step("{}", "Backend: {Name: Ductile, Config: {n_gen: 3}}")->steps[0].result_driven);
}

TEST(Config, ParameterNamesOfOtherToolchainsAreTheirOwn) {
    EXPECT_TRUE(one_step("{ForkParameters: [{Whatever: [1]}]}").ok());
    EXPECT_FALSE(one_step("{ForkParameters: [{Whatever: [1]}]}", "# tensilelite").ok());
}

TEST(Config, UnbatchedTensileliteProblemsHaveNoBatchIndex) {
    const auto load = [](const std::string& sizes) {
        return parse_config("BenchmarkProblems: [[{DataType: S}, {BenchmarkFinalParameters: [{ProblemSizes: [{Exact: " +
                                sizes + "}]}]}]]\n",
                            "t.yaml")
            .ok();
    };
    EXPECT_TRUE(load("[1, 2, 3]"));
    EXPECT_FALSE(load("[1, 2, 3, 4]"));
    EXPECT_TRUE(load("[1, 2, 3, 4, 5, 6, 7]"));
}

TEST(Config, EveryGlobalParameterThatNamesHostThingsIsRefused) {
    for (const char* key : {"ClientArgs",
                            "AssemblerPath",
                            "CxxCompiler",
                            "CCompiler",
                            "PrebuiltClient",
                            "CMakeCXXFlags",
                            "CMakeCFlags",
                            "ClientExecutionLockPath",
                            "ROCmSMIPath",
                            "ROCmAgentEnumeratorPath",
                            "WorkingPath",
                            "ScriptPath",
                            "SourcePath",
                            "CustomKernelDirectory",
                            "LibraryUpdateFile",
                            "ClientBuildPath",
                            "BenchmarkProblemsPath",
                            "LibraryLogicPath",
                            "StinkyTofuCostOutputDir",
                            "StinkyTofuPassOrderSnapshotJson",
                            "RocProfCounter",
                            "AMDSMIPath",
                            "OffloadBundler"}) {
        for (const char* value : {"/tmp/x", "null", "''", "1"}) {
            const auto config = one_step("{}", std::string("GlobalParameters: {") + key + ": " + value + "}");
            ASSERT_FALSE(config.ok()) << key;
            EXPECT_EQ(config.error().kind, ErrorKind::kInput);
            EXPECT_NE(config.error().message.find("each worker sets those itself"), std::string::npos)
                << config.error().message;
        }
    }
}

TEST(Config, TextOfGlobalParametersCannotCarryArguments) {
    for (const char* value : {"'-O3 -fplugin=x'", "'a;rm -rf ~'", "../../x", "'$(id)'"}) {
        for (const char* key :
             {"CMakeBuildType", "CodeObjectVersion", "BuildIdKind", "Architecture", "RuntimeLanguage"}) {
            EXPECT_FALSE(one_step("{}", std::string("GlobalParameters: {") + key + ": " + value + "}").ok())
                << key << value;
        }
    }
}

TEST(Config, MissingFileAndDirectoryAreNamed) {
    const auto missing = load_config("/nonexistent/x.yaml");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
    EXPECT_NE(missing.error().message.find("/nonexistent/x.yaml"), std::string::npos);
    const auto directory = load_config(TUNEFARM_SOURCE_DIR "/tests");
    ASSERT_FALSE(directory.ok());
    EXPECT_EQ(directory.error().kind, ErrorKind::kInput);
}

TEST(Config, MessagesCarryNoTerminalCodesAndNoEndlessText) {
    const auto config = one_step("{\"\\e[2J" + std::string(5000, 'x') + "\": 1}");
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.error().message.find('\x1b'), std::string::npos);
    EXPECT_LT(config.error().message.size(), 2000u);
}

}  // namespace
}  // namespace tunefarm::plan
