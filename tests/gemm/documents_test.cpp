// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/documents.h"

#include <gtest/gtest.h>

#include "tests/gemm/fixture.h"

namespace tunefarm::gemm {
namespace {

Prepared prepare(const Json& json, const char* target) {
    std::vector<Unit> units;
    Failure failure;
    EXPECT_TRUE(read_units(json, &units, &failure)) << failure.message;
    Prepared prepared;
    EXPECT_TRUE(prepare_step(units[0], *find_target(target), nullptr, &prepared, &failure)) << failure.message;
    return prepared;
}

Json step() {
    return Json::parse(prepare(config(R"([{"DepthU":[64,128]}])"), "x86-64-v3").document);
}

TEST(Documents, PrepareDropsInvalidPointsWithTheirReasonAndDuplicates) {
    const Prepared prepared =
        prepare(config(R"([{"VectorWidth":[8,8,4]},{"ThreadTile0":[16,12]},{"ThreadTile1":[4]}])"), "x86-64-v3");
    EXPECT_EQ(prepared.permutations, 6U);
    EXPECT_EQ(prepared.rejected, 3U);  // 12 with 8 twice, and 16x4 in vectors of 4 needs too many registers
    EXPECT_EQ(prepared.duplicates, 1U);
    const Json document = Json::parse(prepared.document);
    ASSERT_EQ(document["kernels"].size(), 2U);
    EXPECT_EQ(document["rejected"][0]["permutation"], 2);
    EXPECT_EQ(document["problems"][0]["flop"], 2.0 * 64 * 64 * 64);
}

TEST(Documents, PrepareRefusesAnAbsurdNumberWithNumberAndLimit) {
    Json values = Json::array();
    for (int i = 1; i <= 1001; ++i) values.push_back(i);
    std::vector<Unit> units;
    Failure failure;
    Prepared prepared;
    ASSERT_TRUE(read_units(config(Json::array({Json{{"MacroTile0", values}}, Json{{"MacroTile1", values}}}).dump()),
                           &units, &failure));
    EXPECT_FALSE(prepare_step(units[0], *find_target("x86-64-v3"), nullptr, &prepared, &failure));
    EXPECT_NE(failure.message.find("1002001"), std::string::npos);
    EXPECT_NE(failure.message.find("1000000"), std::string::npos);
}

TEST(Documents, PrepareRefusesATypeThatTheTargetLacks) {
    std::vector<Unit> units;
    Failure failure;
    Prepared prepared;
    ASSERT_TRUE(read_units(config("[]", R"([{"Exact":[8,8,1,8]}])", "h"), &units, &failure));
    EXPECT_FALSE(prepare_step(units[0], *find_target("x86-64-v3"), nullptr, &prepared, &failure));
    EXPECT_EQ(failure.path, "BenchmarkProblems[0][0].DataType");
    EXPECT_EQ(failure.allowed, (std::vector<std::string>{"s", "d"}));
}

TEST(Documents, ArgsAloneGiveTheKernelBack) {
    for (const Target& target : targets()) {
        ProblemType type;
        type.transpose_b = true;
        const Point point = resolve(automatic_point(), type, target);
        ProblemType type_back;
        Point point_back{};
        Failure failure;
        ASSERT_TRUE(read_kernel_args(kernel_args(type, point, target), target, &type_back, &point_back, &failure))
            << failure.message;
        EXPECT_EQ(type_back, type);
        EXPECT_EQ(point_back, point);
    }
}

TEST(Documents, ForeignArgsAreRefused) {
    const Target& target = *find_target("x86-64-v3");
    const Json good = kernel_args({}, resolve(automatic_point(), {}, target), target);
    ProblemType type;
    Point point{};
    Failure failure;
    for (const char* patch : {R"({"DepthU":"rm -rf"})", R"({"Path":1})", R"({"ProblemType":null})",
                              R"({"VectorWidth":3})", R"({"DepthU":99999999999})"}) {
        Json bad = good;
        bad.update(Json::parse(patch));
        EXPECT_FALSE(read_kernel_args(bad, target, &type, &point, &failure)) << patch;
    }
}

TEST(Documents, ManifestHoldsOnlyWhatWasBuilt) {
    const Json document = step();
    std::string manifest;
    Failure failure;
    ASSERT_TRUE(
        make_manifest(document, {document["kernels"][1]["name"]}, *find_target("x86-64-v3"), &manifest, &failure))
        << failure.message;
    const Json json = Json::parse(manifest);
    ASSERT_EQ(json["solutions"].size(), 1U);
    EXPECT_EQ(json["solutions"][0]["name"], document["solutions"][1]["name"]);
    EXPECT_FALSE(make_manifest(document, {}, *find_target("x86-64-v3"), &manifest, &failure));
}

TEST(Documents, ResultFilesFollowUpstreamsColumns) {
    const Json document = step();
    const Json first = document["solutions"][0]["name"];
    const Json second = document["solutions"][1]["name"];
    const Json row{{"problem", "64x64x1x64"}, {"solution", first}, {"validation", "PASSED"},
                   {"median_us", 10.0},       {"gflops", 52.4288}, {"winner", true}};
    const Json failed{{"problem", "64x64x1x64"}, {"solution", second}, {"validation", "FAILED"}, {"winner", false}};
    std::vector<ResultFile> files;
    Failure failure;
    ASSERT_TRUE(
        conclude_step(document, Json{{"version", 1}, {"results", Json::array({row, failed})}}, &files, &failure));
    ASSERT_EQ(files.size(), 2U);
    EXPECT_EQ(files[0].name, "Cijk_Ailk_Bljk_S_B_00_00_Final.csv");
    const std::string line = files[0].content.substr(files[0].content.find('\n') + 1);
    EXPECT_EQ(line, "0, 64, 64, 1, 64, 0, 0, 0, 0, 524288, 52.4288, 10.0000, 0, " + first.get<std::string>() +
                        ", 52.4288, -1.0\n");
    EXPECT_EQ(Json::parse(files[1].content)["problems"][0]["winner"]["solution"], first);
}

TEST(Documents, BuildOnlyStepsSayThatTheyWereOnlyBuilt) {
    std::vector<ResultFile> files;
    Failure failure;
    ASSERT_TRUE(conclude_step(step(), nullptr, &files, &failure));
    ASSERT_EQ(files.size(), 1U);
    EXPECT_EQ(Json::parse(files[0].content)["status"], "built");
}

TEST(Documents, AGroupNameNeverBecomesAPath) {
    Json document = step();
    document["group_name"] = "../../etc/passwd";
    std::vector<ResultFile> files;
    Failure failure;
    EXPECT_FALSE(conclude_step(document, nullptr, &files, &failure));
}

}  // namespace
}  // namespace tunefarm::gemm
