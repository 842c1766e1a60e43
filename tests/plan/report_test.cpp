// SPDX-License-Identifier: MIT
#include "coordinator/plan/report.h"

#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

PlannedConfig both() {
    const auto units = parse_units(read_data("gates_both.json"));
    EXPECT_TRUE(units.ok());
    return {"dir/a \"b\".yaml", "gemm", units ? *units : std::vector<Unit>{}};
}

TEST(PlanReport, JsonHasTheDocumentedShape) {
    PlannedConfig config = both();
    config.units.erase(config.units.begin(), config.units.begin() + 2);
    config.units.resize(1);
    config.units[0].index = 0;
    config.units[0].custom_kernels = {"k"};
    EXPECT_EQ(
        plan_json({config}),
        R"({"version":1,"configs":[{"path":"dir/a \"b\".yaml","toolchain":"gemm","steps":[{"index":0,"problem":"p","group":0,)"
        R"("group_name":"A_00","cache_key":"k0","fork_permutations":1,"size_entries":1,"problem_sizes":[[1,1,1,1]],)"
        R"("custom_kernels":["k"],"result_driven":false,"waits_on":[]}]}]})"
        "\n");
}

TEST(PlanReport, JsonNamesGatesOfTheWaiter) {
    const std::string json = plan_json({both()});
    EXPECT_NE(json.find(R"("waits_on":[{"step":0,"reason":"same cache directory","gate":"prepare after finish"},)"
                        R"({"step":1,"reason":"same group name","gate":"conclude after conclude"}])"),
              std::string::npos)
        << json;
}

TEST(PlanReport, JsonSaysNullForWhatOnlyAToolchainKnows) {
    const std::string json = plan_json({{"x.yaml", "tensilelite", units_of(must_load("two_types.yaml"))}});
    EXPECT_NE(json.find(R"("group_name":null,"cache_key":null)"), std::string::npos);
    EXPECT_NE(json.find(R"("waits_on":null)"), std::string::npos);
    EXPECT_EQ(json.find(R"("waits_on":[])"), std::string::npos);
}

TEST(PlanReport, TextLabelsItsEstimateAndCountsTargets) {
    const std::string text = plan_text({both()}, {"gfx942", "gfx950"});
    EXPECT_NE(text.find("Estimate: up to"), std::string::npos);
    EXPECT_NE(text.find("4 steps of 1 config for gfx942, gfx950: 8 fork permutations."), std::string::npos) << text;
    EXPECT_NE(text.find("step 1: conclude after conclude (same group name)"), std::string::npos) << text;
}

TEST(PlanReport, DotEscapesTextAndPointsFromHolderToWaiter) {
    const std::string dot = plan_dot({both()});
    EXPECT_NE(dot.find(R"(label="dir/a \"b\".yaml")"), std::string::npos) << dot;
    EXPECT_NE(dot.find("c0s0 -> c0s2 [label=\"prepare after finish\\nsame cache directory\"]"), std::string::npos)
        << dot;
}

}  // namespace
}  // namespace tunefarm::plan
