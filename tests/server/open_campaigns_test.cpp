// SPDX-License-Identifier: MIT
#include "coordinator/server/open_campaigns.h"

#include <gtest/gtest.h>

#include "tests/server/fake_world.h"

namespace tunefarm::server {
namespace {

using testing::World;

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
        open.record = world.database.campaigns_.at(id);
        storage::ConfigRecord config;
        config.id = ConfigId{1};
        config.campaign = id;
        config.path = before.configs.front().config.path;
        config.content = sha256(World::kConfig);
        open.configs = {config};
        for (const auto& [step_id, step] : world.database.steps_) open.steps.push_back(step);
        for (const auto& [task_id, task] : world.database.tasks_) open.tasks.push_back(task);
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

}  // namespace
}  // namespace tunefarm::server
