// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/driver.h"

#include <gtest/gtest.h>

#include "tests/gemm/fixture.h"

namespace tunefarm::gemm {
namespace {

TEST(Driver, SurvivesAnyBytesAndAnswersEachWithOneError) {
    TestDriver driver;
    const std::string deep =
        R"({"id":1,"verb":"split","inputs":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
    for (const std::string& line :
         {std::string(), std::string("{"), std::string("null"), std::string("[]"), std::string("\x00\xff\xfe", 3),
          std::string(R"({"id":1})"), std::string(R"({"id":1,"verb":7})"), std::string(R"({"id":1,"verb":"format"})"),
          std::string(R"({"id":1,"verb":"build","target":"sm_90","inputs":{},"args":{}})"),
          std::string(R"({"id":1,"verb":"build","target":"gfx950","inputs":[],"args":{}})"),
          std::string(R"({"id":1,"verb":"build","target":"gfx950","inputs":{},"args":{"kernels":[{"id":"../x"}]}})"),
          deep}) {
        const Answer answer = driver.send(line);
        ASSERT_EQ(driver.events().size(), 1U);
        EXPECT_EQ(answer.last["event"], "error");
    }
}

TEST(Driver, IgnoresACancelBetweenRequests) {
    TestDriver driver;
    driver.send(R"({"id":7,"verb":"cancel"})");
    EXPECT_TRUE(driver.events().empty());
}

TEST(Driver, SplitAnswersWithUnits) {
    TestDriver driver;
    const std::string path = driver.folder().write("config.json", config(R"([{"DepthU":[64,128]}])").dump());
    const Answer answer = driver.ask("split", "*", {{"config", path}});
    ASSERT_EQ(answer.last["event"], "done") << answer.last;
    EXPECT_EQ(answer.last["result"]["units"][0]["group_name"], "Cijk_Ailk_Bljk_S_B_00");
    EXPECT_EQ(answer.last["result"]["units"][0]["fork_permutations"], 2);
}

TEST(Driver, ConfigErrorsCarryPathAndAllowed) {
    TestDriver driver;
    const std::string path = driver.folder().write("config.json", config(R"([{"DepthU":["x"]}])").dump());
    const Answer answer = driver.ask("split", "*", {{"config", path}});
    EXPECT_EQ(answer.last["event"], "error");
    EXPECT_EQ(answer.last["class"], "input");
    EXPECT_EQ(answer.last["path"], "BenchmarkProblems[0][1].ForkParameters.DepthU[0]");
    EXPECT_FALSE(answer.last["allowed"].empty());
}

TEST(Driver, JunkConfigsAreInputErrors) {
    TestDriver driver;
    for (const std::string& text : {std::string("\x7f"
                                                "ELF\0\1",
                                                6),
                                    std::string(50'000, '['), std::string("{\"BenchmarkProblems\":")}) {
        const std::string path = driver.folder().write("config.json", text);
        EXPECT_EQ(driver.ask("split", "*", {{"config", path}}).last["class"], "input");
    }
    EXPECT_EQ(driver.ask("split", "*", {{"config", driver.folder().path()}}).last["event"], "error");
}

TEST(Driver, UnknownTargetsNameTheKnownOnes) {
    TestDriver driver;
    const std::string path = driver.folder().write("config.json", config().dump());
    const Answer answer = driver.ask("prepare", "sm_90", {{"config", path}}, {{"unit", 0}});
    EXPECT_EQ(answer.last["class"], "input");
    EXPECT_EQ(answer.last["allowed"].size(), targets().size());
}

TEST(Driver, HelloSaysWhatIsMissingAndWhichPackageHasIt) {
    Tools tools = test_tools();
    tools.clang.clear();
    TestDriver driver(tools);
    const Json hello = driver.hello();
    EXPECT_EQ(hello["protocol"], 1);
    ASSERT_EQ(hello["missing"].size(), targets().size());
    EXPECT_NE(hello["missing"][0]["reason"].get<std::string>().find("install the package clang-22"), std::string::npos);
    for (const Json& capability : hello["capabilities"]) EXPECT_NE(capability["verb"], "build");
}

TEST(Driver, ACompilerThatCannotAssembleIsMissing) {
    Tools tools = test_tools();
    tools.clang = "/bin/false";
    TestDriver driver(tools);
    EXPECT_EQ(driver.hello()["missing"].size(), targets().size());
}

TEST(Driver, TheHeaderIsPartOfTheFingerprintOfBuilds) {
    TestDriver driver;
    const Json hello = driver.hello();
    EXPECT_EQ(hello["files"]["header"]["files"][0], test_tools().header());
    bool found = false;
    for (const Json& capability : hello["capabilities"]) {
        if (capability["verb"] != "build") continue;
        found = true;
        EXPECT_NE(std::find(capability["uses"].begin(), capability["uses"].end(), "header"), capability["uses"].end());
    }
    EXPECT_TRUE(found || !hello["missing"].empty());
}

}  // namespace
}  // namespace tunefarm::gemm
