// SPDX-License-Identifier: MIT
#include "coordinator/server/open_campaigns.h"

#include <gtest/gtest.h>

#include "tests/server/fake_world.h"

namespace tunefarm::server {
namespace {

using testing::World;

storage::OpenCampaign stored(const World& world, CampaignId id, const CampaignRequest& request) {
    storage::OpenCampaign open;
    open.record = world.database.campaigns_.at(id);
    storage::ConfigRecord config;
    config.id = ConfigId{1};
    config.campaign = id;
    config.path = request.configs.front().config.path;
    config.content = sha256(World::kConfig);
    open.configs = {config};
    for (const auto& [step_id, step] : world.database.steps_) open.steps.push_back(step);
    for (const auto& [task_id, task] : world.database.tasks_) open.tasks.push_back(task);
    return open;
}

struct Interrupted : ::testing::Test {
    World world;
    storage::OpenCampaign open;
    CampaignRequest before;

    void SetUp() override {
        world.join("w1");
        before = world.request();
        before.priority = -2;
        before.toolchains = world.core->fingerprints(before);
        const CampaignId id = world.submit(before);
        world.turn();
        world.core->shut_down(false, "test");
        world.database.commit();
        open = stored(world, id, before);
    }
};

TEST_F(Interrupted, ACampaignIsSubmittedAgainWithoutItsFile) {
    world.restart();
    world.join("w1");
    auto request = request_of(open, world.artifacts);
    ASSERT_TRUE(request.ok()) << request.error().message;
    EXPECT_EQ(request->priority, -2);
    EXPECT_EQ(request->measured_targets, before.measured_targets);
    request->toolchains = world.core->fingerprints(*request);
    EXPECT_EQ(campaign_key(*request), open.record.key) << "nothing that matters was lost on the way";
    ASSERT_EQ(world.core->submit(*request, &open, world.now).value(), open.record.id);
    world.play();
    EXPECT_EQ(world.core->state(open.record.id), schedule::CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kSplit], 1) << "what was done is not done again";
}

TEST_F(Interrupted, AConfigThatIsNotStoredIsNamed) {
    world.artifacts.content_.erase(sha256(World::kConfig));
    const auto request = request_of(open, world.artifacts);
    ASSERT_FALSE(request.ok());
    EXPECT_NE(request.error().message.find("toy.yaml"), std::string::npos);
}

TEST_F(Interrupted, OneThatNobodyWorksOnIsCancelledWithAllThatWaits) {
    for (const storage::Record& record : cancelled(open, world.now)) {
        if (const auto* step = std::get_if<storage::StepRecord>(&record)) {
            EXPECT_EQ(step->end, StepEnd::kCancelled);
        }
        if (const auto* task = std::get_if<storage::TaskRecord>(&record)) {
            EXPECT_EQ(task->state, "cancelled");
        }
        if (const auto* campaign = std::get_if<storage::CampaignRecord>(&record)) {
            EXPECT_EQ(campaign->ended, world.now);
        }
    }
    EXPECT_FALSE(reopened(open).ok()) << "it has not ended";
}

TEST(Retried, ACancelledCampaignBeginsAnewInTheSameProcessAndKeepsItsIds) {
    World world;
    world.toy.kernels = 9;
    world.join("w1", 1);
    CampaignRequest request = world.request();
    request.toolchains = world.core->fingerprints(request);
    const CampaignId id = world.submit(request);
    while (world.toy.executed[TaskKind::kBuild] < 2) ASSERT_GT(world.turn(), 0);
    world.core->cancel(id, world.now);
    world.turn();
    ASSERT_EQ(world.core->state(id), schedule::CampaignState::kCancelled);
    const storage::OpenCampaign ended = stored(world, id, request);
    const auto records = reopened(ended);
    ASSERT_TRUE(records.ok()) << records.error().message;
    world.database.submit(*records);
    world.turn();
    const storage::OpenCampaign open = stored(world, id, request);
    EXPECT_EQ(open.record.ended, Instant{});
    ASSERT_EQ(world.core->submit(request, &open, world.now).value(), id);
    world.play();
    EXPECT_EQ(world.core->state(id), schedule::CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kSplit], 1) << "what was done is not done again";
    EXPECT_EQ(world.toy.executed[TaskKind::kPrepare], 1);
    EXPECT_EQ(world.database.steps_.size(), 1U);
    EXPECT_EQ(world.database.steps_.begin()->second.end, StepEnd::kMeasured);
    EXPECT_EQ(world.database.tasks_in(TaskKind::kBuild, "done", false) +
                  world.database.tasks_in(TaskKind::kBuild, "done", true),
              9);
    EXPECT_FALSE(reopened(stored(world, id, request)).ok()) << "nothing has to be repeated";
}

}  // namespace
}  // namespace tunefarm::server
