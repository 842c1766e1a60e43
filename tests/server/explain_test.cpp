// SPDX-License-Identifier: MIT
// Why something does not run: each cause by itself, through the whole core.
#include <gtest/gtest.h>

#include "tests/server/fake_world.h"

namespace tunefarm::server {
namespace {

using testing::World;

/// "build x3 waiting: reason; reason" of every entry.
std::vector<std::string> explained(const World& world, CampaignId id, std::optional<TaskKind> kind = std::nullopt) {
    std::vector<std::string> out;
    for (const Explanation& each : world.core->explain(id, std::nullopt, kind, world.now)) {
        std::string text = std::string(to_string(each.kind)) + " x" + std::to_string(each.count) +
                           (each.running ? " running" : " waiting");
        for (const std::string& reason : each.reasons) text += ": " + reason;
        out.push_back(text);
    }
    return out;
}

bool says(const std::vector<std::string>& lines, const std::string& text) {
    for (const std::string& line : lines) {
        if (line.find(text) != std::string::npos) return true;
    }
    return false;
}

#define EXPECT_SAYS(lines, text) EXPECT_TRUE(says(lines, text)) << ::testing::PrintToString(lines)

TEST(ExplainTest, AGate) {
    World world;
    world.toy.group_names = {"g", "g"};
    world.toy.cache_keys = {"c", "c"};
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.turn();
    const StepId first = world.database.steps_.begin()->first;
    EXPECT_SAYS(explained(world, id), "prepare x1 waiting: gate: waits for finish of step " +
                                          std::to_string(first.value()) + " (same cache directory)");
}

TEST(ExplainTest, Credit) {
    World world;
    world.toy.kernels = 9;
    world.join("w1", 1);
    const CampaignId id = world.submit(world.request());
    world.turn();
    world.turn();
    const auto lines = explained(world, id);
    EXPECT_SAYS(lines, "running: on w1, attempt 1");
    EXPECT_SAYS(lines, "waiting: w1: waits for a free slot: all 1 have work");
    const auto builds = explained(world, id, TaskKind::kBuild);
    EXPECT_EQ(builds.size(), 9U) << "single tasks, where one kind is asked for: " << ::testing::PrintToString(builds);
}

TEST(ExplainTest, Memory) {
    World world;
    world.toy.kernels = 30;
    world.toy.peak_memory = Bytes{5LL << 30};
    world.join("w1", 4);
    const CampaignId id = world.submit(world.request());
    world.turn();
    world.turn();
    // The first builds show what one takes; from then on only one fits.
    world.turn();
    EXPECT_SAYS(explained(world, id), "waits for memory: 5632 MiB predicted");
}

TEST(ExplainTest, AMissingCompiler) {
    World world;
    world.missing = {{"toy", "t2", "clang-22 not found: install the package clang-22"}};
    world.join("w1");
    CampaignRequest request = world.request();
    request.targets = {"t2"};
    request.measured_targets.clear();
    const CampaignId id = world.submit(request);
    world.turn();
    const auto lines = explained(world, id);
    EXPECT_SAYS(lines, "no connected worker can prepare with toolchain toy for target t2");
    EXPECT_SAYS(lines, "w1: clang-22 not found: install the package clang-22");
}

TEST(ExplainTest, AQuarantinedHost) {
    World world;
    world.toy.kernels = 40;
    world.toy.broken_hosts = {"bad"};
    world.join("bad", 1, "tool", false);
    world.join("good", 1, "tool", false);
    const CampaignId id = world.submit(world.request());
    for (int i = 0; i < 12; ++i) world.turn();
    EXPECT_SAYS(explained(world, id), "bad: quarantined:");
    world.play();
    EXPECT_EQ(world.database.tasks_in(TaskKind::kBuild, "failed", false), 0);
    EXPECT_EQ(world.database.tasks_in(TaskKind::kBuild, "done", false), 40) << "nothing is lost to it";
}

TEST(ExplainTest, NoWorkerAtAll) {
    World world;
    const CampaignId id = world.submit(world.request());
    EXPECT_SAYS(explained(world, id), "split x1 waiting: no worker is connected");
}

TEST(ExplainTest, WhatHasEndedHasNothingToExplain) {
    World world;
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_TRUE(explained(world, id).empty());
}

}  // namespace
}  // namespace tunefarm::server
