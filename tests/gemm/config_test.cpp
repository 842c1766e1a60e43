// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/config.h"

#include <gtest/gtest.h>

#include "tests/gemm/fixture.h"

namespace tunefarm::gemm {
namespace {

std::vector<Unit> read(const Json& json) {
    std::vector<Unit> units;
    Failure failure;
    EXPECT_TRUE(read_units(json, &units, &failure)) << failure.path << ": " << failure.message;
    return units;
}

Failure refuse(const Json& json) {
    std::vector<Unit> units;
    Failure failure;
    EXPECT_FALSE(read_units(json, &units, &failure));
    EXPECT_EQ(failure.klass, "input");
    EXPECT_FALSE(failure.message.empty());
    return failure;
}

TEST(Config, FirstParameterVariesFastestAndGroupsComeLast) {
    const auto units = read(config(
        R"([{"UnrollK":[1,2]},{"MacroTile0":[64,128,192]},{"Groups":[[{"ThreadTile0":16,"ThreadTile1":6},{"ThreadTile0":8}]]}])"));
    ASSERT_EQ(units.size(), 1U);
    EXPECT_EQ(units[0].permutations, 12U);
    EXPECT_EQ(units[0].permutation(1)[kMacroTile0], 128);  // the space's order, not the file's
    EXPECT_EQ(units[0].permutation(3)[kUnrollK], 2);
    EXPECT_EQ(units[0].permutation(5)[kThreadTile0], 16);
    EXPECT_EQ(units[0].permutation(6)[kThreadTile0], 8);
    EXPECT_EQ(units[0].permutation(6)[kThreadTile1], kAuto);
}

TEST(Config, RepeatedKeysKeepTheLastValue) {
    EXPECT_EQ(read(config(R"([{"DepthU":[64,128]},{"DepthU":[256]}])"))[0].permutations, 1U);
}

TEST(Config, ForksOverrideCommonParameters) {
    Json json = config(R"([{"DepthU":[64,128]}])");
    json["BenchmarkProblems"][0][1]["BenchmarkCommonParameters"] = Json::parse(R"([{"DepthU":[32]},{"UnrollK":[2]}])");
    const auto units = read(json);
    EXPECT_EQ(units[0].permutations, 2U);
    EXPECT_EQ(units[0].permutation(0)[kDepthU], 64);
    EXPECT_EQ(units[0].permutation(0)[kUnrollK], 2);
}

TEST(Config, EveryGroupIsAUnitNumberedWithinItsEntry) {
    Json json = config();
    json["BenchmarkProblems"][0].push_back(json["BenchmarkProblems"][0][1]);
    json["BenchmarkProblems"].push_back(json["BenchmarkProblems"][0]);
    const auto units = read(json);
    ASSERT_EQ(units.size(), 4U);
    EXPECT_EQ(units[1].group_name(), "Cijk_Ailk_Bljk_S_B_01");
    EXPECT_EQ(units[2].group_name(), "Cijk_Ailk_Bljk_S_B_00");
    EXPECT_EQ(units[2].cache_key, units[0].cache_key);
}

TEST(Config, CacheKeyFollowsForksAndNotSizes) {
    const std::string key = read(config(R"([{"DepthU":[64,128]}])"))[0].cache_key;
    EXPECT_EQ(key.size(), 12U);
    EXPECT_EQ(read(config(R"([{"DepthU":[64,128]}])", R"([{"Exact":[8,8,1,8]}])"))[0].cache_key, key);
    EXPECT_NE(read(config(R"([{"DepthU":[64,192]}])"))[0].cache_key, key);
    // A default that is written out is the default.
    EXPECT_EQ(read(config(R"([{"DepthU":[64,128]},{"PackA":[-1]}])"))[0].cache_key, key);
}

TEST(Config, RangesExpandFirstIndexFastestWithoutDuplicates) {
    const auto units = read(config("[]", R"([{"Range":[[16,16,48],[8,8,16],[1],0]},{"Exact":[16,8,1,16]}])"));
    EXPECT_EQ(units[0].size_entries, 2U);
    ASSERT_EQ(units[0].problems.size(), 6U);
    EXPECT_EQ(units[0].problems[1].name(), "32x8x1x32");
    EXPECT_EQ(units[0].problems[3].name(), "16x16x1x16");
    // The step grows by the third number.
    const auto growing = read(config("[]", R"([{"Range":[[1,1,2,20],[1],[1],[1]]}])"));
    ASSERT_EQ(growing[0].problems.size(), 5U);
    EXPECT_EQ(growing[0].problems[4].m, 17);
}

TEST(Config, LeadingDimensionsAreKeptOnlyWhereNotTight) {
    const auto units = read(config("[]", R"([{"Exact":[8,8,1,8,8,8,8,8]},{"Exact":[8,8,1,8,16,8,8,8]}])"));
    EXPECT_EQ(units[0].problems[0].name(), "8x8x1x8");
    EXPECT_EQ(units[0].problems[1].name(), "8x8x1x8_ld16x8x8x8");
}

TEST(Config, ErrorsNameThePlaceAndWhatIsAllowed) {
    const std::string forks = "BenchmarkProblems[0][1].ForkParameters.";
    Failure failure = refuse(config(R"([{"DephtU":[64]}])"));
    EXPECT_EQ(failure.path, forks + "DephtU");
    EXPECT_NE(std::find(failure.allowed.begin(), failure.allowed.end(), "DepthU"), failure.allowed.end());
    failure = refuse(config(R"([{"VectorWidth":[4,3]}])"));
    EXPECT_EQ(failure.path, forks + "VectorWidth[1]");
    EXPECT_EQ(failure.allowed, std::vector<std::string>{"-1 (automatic), 1, 2, 4, 8, 16"});
    EXPECT_EQ(refuse(config(R"([{"DepthU":[]}])")).path, forks + "DepthU");
    EXPECT_EQ(refuse(config(R"([{"DepthU":64}])")).path, forks + "DepthU");
    EXPECT_EQ(refuse(config(R"([{"DepthU":[1e300]}])")).path, forks + "DepthU[0]");
    EXPECT_EQ(refuse(config(R"([{"DepthU":[18446744073709551615]}])")).path, forks + "DepthU[0]");
    EXPECT_EQ(refuse(config(R"([{"Groups":[[{"DepthU":[1]}]]}])")).path, forks + "Groups[0][0].DepthU");
    EXPECT_EQ(refuse(config(R"([{"Groups":[[]]}])")).path, forks + "Groups[0]");
    EXPECT_EQ(refuse(config("[]", "[]", "x")).path, "BenchmarkProblems[0][0].DataType");
    const std::string sizes = "BenchmarkProblems[0][1].BenchmarkFinalParameters[0].ProblemSizes";
    EXPECT_EQ(refuse(config("[]", "[]")).path, sizes);
    EXPECT_EQ(refuse(config("[]", R"([{"Exact":[1,2,3]}])")).path, sizes + "[0].Exact");
    EXPECT_EQ(refuse(config("[]", R"([{"Exact":[1,2,3,-4]}])")).path, sizes + "[0].Exact[3]");
    EXPECT_EQ(refuse(config("[]", R"([{"Range":[[1,1,1000000],[1,1,1000000],[1],[1]]}])")).path,
              sizes + "[0].Range[0]");
    EXPECT_EQ(refuse(config("[]", R"([{"Range":[[1],[1],[1],9]}])")).path, sizes + "[0].Range[3]");
}

TEST(Config, HostileShapesAreRefused) {
    for (const char* text :
         {"null", "7", "[]", "{}", R"({"BenchmarkProblems":null})", R"({"BenchmarkProblems":[]})",
          R"({"BenchmarkProblems":[[]]})", R"({"BenchmarkProblems":[7]})",
          R"({"BenchmarkProblems":[[{"DataType":{}}]]})", R"({"BenchmarkProblems":[[{"DataType":"s"},[1]]]})",
          R"({"BenchmarkProblems":[[{"DataType":"s","Sparse":1},{}]]})",
          R"({"BenchmarkProblems":[[{"DataType":"s"},{"CustomKernels":["x"]}]]})",
          R"({"BenchmarkProblems":[[{"DataType":"s"},{"ForkParameters":[[]]}]]})",
          R"({"Backend":{"Name":"Ductile"},"BenchmarkProblems":[[{"DataType":"s"},{}]]})"}) {
        SCOPED_TRACE(text);
        refuse(Json::parse(text));
    }
}

TEST(Config, PermutationsBeyond63BitsAreRefused) {
    Json values = Json::array();
    for (int i = 1; i <= 1000; ++i) values.push_back(i);
    Json forks = Json::array();
    for (const char* name : {"MacroTile0", "MacroTile1", "DepthU"}) forks.push_back(Json{{name, values}});
    const auto units = read(config(forks.dump()));
    EXPECT_EQ(units[0].permutations, 1'000'000'000U);  // counted, not made
    Json axis = Json::array();
    for (int i = 1; i <= 1000; ++i) axis.push_back(Json{{"DepthU", i}});
    forks.push_back(Json{{"Groups", Json::array({axis, axis, axis, axis})}});
    EXPECT_EQ(refuse(config(forks.dump())).path, "BenchmarkProblems[0][1].ForkParameters");
}

}  // namespace
}  // namespace tunefarm::gemm
