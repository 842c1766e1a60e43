// SPDX-License-Identifier: MIT
// Artifacts that vanish from the store while a campaign needs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "coordinator/server/core.h"
#include "tests/server/fake_world.h"

namespace tunefarm::server {
namespace {

using schedule::CampaignState;
using testing::World;

/// Plays until the world is about to send the first assignment of `kind`, then lets `damage` happen and plays on.
void play_with_damage(World& world, TaskKind before, const std::function<void()>& damage) {
    bool done = false;
    for (;;) {
        for (const auto& [peer, message] : world.transport.sent_) {
            const auto* assign = std::get_if<protocol::Assign>(&message);
            if (done || assign == nullptr || assign->kind != before) continue;
            done = true;
            damage();
            break;
        }
        if (world.turn() == 0) break;
    }
    EXPECT_TRUE(done) << "nothing was damaged";
}

class CoreLostTest : public ::testing::Test {
  protected:
    CoreLostTest() { world.join("w1"); }
    void lose(const std::string& content) { ASSERT_EQ(world.artifacts.content_.erase(sha256(content)), 1U); }
    void lose_step_documents() {
        std::erase_if(world.artifacts.content_,
                      [](const auto& entry) { return entry.second.find("\"solutions\":") != std::string::npos; });
    }
    std::string end_message() const { return world.database.steps_.begin()->second.message; }
    World world;
};

TEST_F(CoreLostTest, AKernelObjectIsBuiltAgainBeforeItsFinish) {
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kFinish, [&] { lose("object of k1"); });
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 4) << "only what was lost";
    EXPECT_EQ(world.toy.executed[TaskKind::kFinish], 1);
    EXPECT_EQ(world.database.tasks_in(TaskKind::kBuild, "done", false), 3);
    EXPECT_EQ(world.database.tasks_in(TaskKind::kFinish, "done", false), 1);
    EXPECT_EQ(world.database.results_.size(), 3U);
    EXPECT_TRUE(world.core->failures(id).empty());
}

TEST_F(CoreLostTest, EveryInputOfEveryKindIsMadeAgain) {
    for (const TaskKind kind : {TaskKind::kFinish, TaskKind::kHelper, TaskKind::kMeasure, TaskKind::kConclude}) {
        World fresh;
        fresh.join("w1");
        const CampaignId id = fresh.submit(fresh.request());
        play_with_damage(fresh, kind, [&] { fresh.artifacts.content_.clear(); });
        EXPECT_EQ(fresh.core->state(id), CampaignState::kDone) << to_string(kind);
        EXPECT_EQ(fresh.database.results_.size(), 3U) << to_string(kind);
        EXPECT_EQ(fresh.toy.executed[TaskKind::kMeasure], 1) << "no measurement is repeated: " << to_string(kind);
    }
}

TEST_F(CoreLostTest, TheConfigIsStoredAgainForItsSplit) {
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kSplit, [&] { world.artifacts.content_.clear(); });
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
}

TEST_F(CoreLostTest, WhatAnEarlierCampaignMadeIsMadeAgainToo) {
    world.submit(world.request());
    world.play();
    world.toy.executed.clear();
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kMeasure, [&] {
        lose("library");
        lose("helper object");
        lose("object of k2");
    });
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kFinish], 1);
    EXPECT_EQ(world.toy.executed[TaskKind::kHelper], 1);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 1) << "the finish that is repeated needs it";
    EXPECT_EQ(world.database.tasks_in(TaskKind::kFinish, "done", true), 1) << "for the step it came from the cache";
}

TEST_F(CoreLostTest, TwoStepsThatShareWhatWasLostMakeItOnce) {
    world.toy.group_names = {"g0", "g1"};
    world.toy.cache_keys = {"c0", "c1"};
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kFinish, [&] { lose("object of k0"); });
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 4);
}

TEST_F(CoreLostTest, OtherBytesGiveTheConsumersAnotherKey) {
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kFinish, [&] {
        lose("object of k1");
        world.toy.variation = " again";
    });
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    const auto finishes = std::count_if(world.database.actions_.begin(), world.database.actions_.end(),
                                        [](const auto& entry) { return entry.second.kind == TaskKind::kFinish; });
    EXPECT_EQ(finishes, 2) << "one that waited for the old object, and one with the new one";
}

TEST_F(CoreLostTest, AnotherStepDocumentFailsItsStepWithTheReason) {
    world.toy.varied_document = true;
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kFinish, [&] {
        lose_step_documents();
        world.toy.variation = "other";
    });
    EXPECT_EQ(world.core->state(id), CampaignState::kFailed);
    EXPECT_NE(end_message().find("another step document"), std::string::npos) << end_message();
}

TEST_F(CoreLostTest, WhatCannotBeMadeAgainFailsItsStepWithTheWordsOfItsMaker) {
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kFinish, [&] {
        lose("object of k1");
        world.toy.broken = {"k1"};
    });
    EXPECT_EQ(world.core->state(id), CampaignState::kFailed);
    EXPECT_NE(end_message().find("k1.s:7: error: invalid operand"), std::string::npos) << end_message();
}

TEST_F(CoreLostTest, AStoreThatKeepsLosingEndsTheStepNotTheFarm) {
    const CampaignId id = world.submit(world.request());
    for (int turn = 0; turn < 200 && world.core->state(id) <= CampaignState::kRunning; ++turn) {
        world.artifacts.content_.erase(sha256("object of k1"));
        world.turn();
    }
    EXPECT_EQ(world.core->state(id), CampaignState::kFailed);
    EXPECT_NE(end_message().find("check the disk"), std::string::npos) << end_message();
    EXPECT_LE(world.toy.executed[TaskKind::kBuild], 12);
}

TEST_F(CoreLostTest, AWorkerThatCannotGetWhatIsThereIsNotAskedForEver) {
    const CampaignId id = world.submit(world.request());
    int lost = 0;
    for (int turn = 0; turn < 100 && world.core->state(id) <= CampaignState::kRunning; ++turn) {
        for (const auto& [peer, assign] : world.transport.take<protocol::Assign>()) {
            for (const protocol::Item& item : assign.items) {
                std::vector<protocol::Rows> rows;
                protocol::AttemptResult result = world.toy.execute(assign, item, world.artifacts, rows);
                if (assign.kind == TaskKind::kHelper) {
                    result = {};
                    result.key = item.key;
                    result.outcome = Outcome::kLost;
                    result.message = "input 'source': timed out";
                    ++lost;
                }
                world.core->message(peer, result, world.now);
            }
        }
        world.database.commit();
        world.core->committed();
    }
    EXPECT_EQ(lost, 3);
    EXPECT_EQ(world.core->state(id), CampaignState::kFailed);
}

TEST_F(CoreLostTest, CancellingWhileSomethingIsMadeAgainLeavesNothing) {
    const CampaignId id = world.submit(world.request());
    play_with_damage(world, TaskKind::kFinish, [&] {
        lose("object of k1");
        world.turn();
        world.core->cancel(id, world.now);
        world.transport.take<protocol::Assign>();  // the worker heeds the cancellation
    });
    EXPECT_EQ(world.core->state(id), CampaignState::kCancelled);
    world.toy.executed.clear();
    const CampaignId next = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(next), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 1);
}

TEST_F(CoreLostTest, AttemptNumbersGoOnWhenAnActionIsExecutedAgain) {
    world.submit(world.request());
    play_with_damage(world, TaskKind::kFinish, [&] { lose("object of k1"); });
    std::map<ActionId, int> good;
    for (const auto& [key, attempt] : world.database.attempts_) good[key.first] += attempt.outcome == Outcome::kOk;
    EXPECT_EQ(std::count_if(good.begin(), good.end(), [](const auto& entry) { return entry.second == 2; }), 1)
        << "both executions of the build are on record, under numbers of their own";
}

}  // namespace
}  // namespace tunefarm::server
