// SPDX-License-Identifier: MIT
// Code objects of every target, and what makes their bytes differ.
#include <gtest/gtest.h>

#include "base/digest.h"
#include "tests/gemm/fixture.h"
#include "worker/toolchains/gemm/documents.h"
#include "worker/toolchains/gemm/facts.h"
#include "worker/toolchains/gemm/generate.h"

namespace tunefarm::gemm {
namespace {

class Compile : public testing::Test {
  protected:
    void SetUp() override {
        tools_ = test_tools();
        if (tools_.clang.empty() || tools_.linker.empty()) GTEST_SKIP() << "clang-22 and lld-22 are not installed";
    }

    std::string object(const Tools& tools, const Target& target, const ProblemType& type, const Point& point,
                       Compiled* compiled) {
        Folder folder;
        Failure failure;
        EXPECT_TRUE(compile_kernel(tools, target, generate_kernel(type, point, target), folder.path(), "k.o", compiled,
                                   &failure))
            << kernel_name(type, point, target) << "\n"
            << failure.message << "\n"
            << failure.log;
        return slurp(folder.path() + "/k.o");
    }

    Tools tools_;
};

TEST_F(Compile, SampledPointsCompileForEveryTarget) {
    std::uint64_t state = 1;
    const auto next = [&state](int n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
    };
    for (const Target& target : targets()) {
        for (int done = 0; done < 2;) {
            ProblemType type;
            type.type = target.gpu ? (next(2) != 0 ? DataType::kHalf : DataType::kFloat)
                                   : (next(2) != 0 ? DataType::kDouble : DataType::kFloat);
            type.transpose_a = next(2) != 0;
            type.transpose_b = next(2) != 0;
            Point point = automatic_point();
            point[kThreadTile0] = 4 << next(3);
            point[kThreadTile1] = target.gpu ? 4 << next(2) : 1 + next(8);
            point[kDepthU] = 8 << next(3);
            point[kPackA] = next(2);
            point[kPackB] = next(2);
            point[kPrefetchGlobalRead] = next(2);
            point = resolve(point, type, target);
            if (invalid_reason(point, type, target)) continue;
            ++done;
            Compiled compiled;
            object(tools_, target, type, point, &compiled);
            EXPECT_GT(compiled.facts["text_bytes"], 100);
            if (target.gpu) {
                EXPECT_GT(compiled.facts["vgpr"], 0);
                EXPECT_EQ(compiled.facts["lds_bytes"], lds_bytes(point, type));
            }
        }
    }
}

TEST_F(Compile, BytesAreTheSameInAnotherDirectoryAndChangeWithTheHeader) {
    const Target& target = *find_target("x86-64-v3");
    const Point point = resolve(automatic_point(), {}, target);
    Compiled compiled;
    const std::string first = object(tools_, target, {}, point, &compiled);
    EXPECT_EQ(first, object(tools_, target, {}, point, &compiled));
    Folder folder;
    std::string header = slurp(tools_.header());
    const std::size_t at = header.find("GEMM_MIN(x, y) ((x) < (y)");
    ASSERT_NE(at, std::string::npos);
    folder.write("gemm_kernel.h", header.replace(at, 25, "GEMM_MIN(x, y) ((x) > (y)"));
    Tools edited = tools_;
    edited.folder = folder.path();
    EXPECT_NE(first, object(edited, target, {}, point, &compiled));
}

TEST_F(Compile, AWarningAboutTheProcessorIsAFailure) {
    Folder folder;
    const std::string fake = folder.write("clang",
                                          "#!/bin/sh\necho \"'gfx950' is not a recognized processor for this target "
                                          "(ignoring processor)\" >&2\nexit 0\n");
    ASSERT_EQ(::chmod(fake.c_str(), 0755), 0);
    Tools tools = tools_;
    tools.clang = fake;
    EXPECT_FALSE(can_assemble(tools, *find_target("gfx950"), folder.path(), nullptr));
}

TEST_F(Compile, AKilledCompilerSaysNothingAboutTheInputOrTheHost) {
    Folder folder;
    const std::string fake = folder.write("clang", "#!/bin/sh\nkill -9 $$\n");
    ASSERT_EQ(::chmod(fake.c_str(), 0755), 0);
    Tools tools = tools_;
    tools.clang = fake;
    Compiled compiled;
    Failure failure;
    EXPECT_FALSE(compile_kernel(tools, *find_target("x86-64-v3"), "", folder.path(), "kernel.o", &compiled, &failure));
    EXPECT_EQ(failure.klass, "internal");
    EXPECT_NE(failure.message.find("signal 9"), std::string::npos) << failure.message;
}

TEST_F(Compile, GpuStepsAreBuiltThroughTheDriverUpToTheirBundle) {
    TestDriver driver;
    const std::string path = driver.folder().write(
        "config.json", config(R"([{"DepthU":[8,16]},{"ThreadTile0":[4]}])", R"([{"Exact":[64,64,1,64]}])", "h").dump());
    const Answer prepared = driver.ask("prepare", "gfx950", {{"config", path}}, {{"unit", 0}});
    ASSERT_EQ(prepared.last["event"], "done") << prepared.last;
    const std::string step = driver.output(prepared, "step");
    const std::string source = driver.output(prepared, "helper");
    const Json document = Json::parse(slurp(step));
    EXPECT_EQ(driver.ask("helper", "gfx950", {{"source", source}}).last["event"], "done");
    Json kernels = Json::array();
    for (std::size_t i = 0; i < document["kernels"].size(); ++i)
        kernels.push_back(
            {{"id", i}, {"name", document["kernels"][i]["name"]}, {"args", document["kernels"][i]["args"]}});
    // One kernel that cannot be: it alone fails.
    Json bad = kernels[0];
    bad["id"] = 9;
    bad["args"]["VectorWidth"] = 16;
    kernels.push_back(bad);
    const Answer built = driver.ask("build", "gfx950", Json::object(), {{"kernels", kernels}});
    ASSERT_EQ(built.last["event"], "done");
    ASSERT_EQ(built.rows.size(), 3U);
    EXPECT_EQ(built.rows[2]["status"], "failed");
    EXPECT_EQ(built.rows[2]["class"], "input");
    const std::string folder = driver.folder().sub("kernels");
    const std::string built_in = step.substr(0, step.rfind('/', step.rfind('/') - 1)) + "/3/";
    for (int i = 0; i < 2; ++i) {
        ASSERT_EQ(built.rows[static_cast<std::size_t>(i)]["status"], "ok") << built.rows[static_cast<std::size_t>(i)];
        const auto name = document["kernels"][static_cast<std::size_t>(i)]["name"].get<std::string>();
        driver.folder().write(
            "kernels/" + name,
            slurp(built_in + built.rows[static_cast<std::size_t>(i)]["outputs"]["object"].get<std::string>()));
    }
    const Answer finished = driver.ask("finish", "gfx950", {{"step", step}, {"kernels", folder}});
    ASSERT_EQ(finished.last["event"], "done") << finished.last;
    EXPECT_EQ(slurp(driver.output(finished, "library")).substr(1, 3), "ELF");
    EXPECT_EQ(driver.ask("measure", "gfx950", Json::object(), {{"phase", "time"}}).last["class"], "environment");
}

}  // namespace
}  // namespace tunefarm::gemm
