// SPDX-License-Identifier: MIT
#include "coordinator/server/core.h"

#include <gtest/gtest.h>

#include "tests/server/fake_world.h"

namespace tunefarm::server {
namespace {

using protocol::Ack;
using protocol::Assign;
using schedule::CampaignState;
using testing::World;

TEST(CoreTest, ACampaignRunsToMeasuredWinners) {
    World world;
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 3);
    ASSERT_EQ(world.database.results_.size(), 3U);
    EXPECT_EQ(world.database.results_[0].winner, "winner");
    EXPECT_EQ(world.database.results_[1].winner, "");
    EXPECT_EQ(world.database.steps_.begin()->second.end, StepEnd::kMeasured);
    EXPECT_EQ(world.database.campaigns_.at(id).state, "done");
    EXPECT_EQ(world.database.samples_.size(), 36U);
}

TEST(CoreTest, ASecondRunExecutesNothingButMeasurementAndConclusion) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.play();
    world.toy.executed.clear();
    const CampaignId again = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(again), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kSplit], 0);
    EXPECT_EQ(world.toy.executed[TaskKind::kPrepare], 0);
    EXPECT_EQ(world.toy.executed[TaskKind::kHelper], 0);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 0);
    EXPECT_EQ(world.toy.executed[TaskKind::kFinish], 0);
    EXPECT_EQ(world.toy.executed[TaskKind::kMeasure], 1);
}

TEST(CoreTest, TheCacheAlsoAnswersAfterARestart) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.play();
    world.toy.executed.clear();
    world.restart();
    world.join("w1");
    world.submit(world.request());
    world.play();
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 0);
}

TEST(CoreTest, ADifferentToolchainMissesTheCache) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.play();
    world.toy.executed.clear();
    world.restart();
    world.join("w1", 2, "edited tool");
    world.submit(world.request());
    world.play();
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 3);
}

TEST(CoreTest, AMissingArtifactIsMadeAgainByItsAction) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.play();
    world.toy.executed.clear();
    world.artifacts.content_.erase(sha256("object of k1"));
    const CampaignId again = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(again), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 1);
}

TEST(CoreTest, ResultsAreAcknowledgedOnlyAfterTheirCommit) {
    World world;
    world.join("w1");
    world.submit(world.request());
    const auto assigned = world.transport.take<Assign>();
    ASSERT_EQ(assigned.size(), 1U);
    std::vector<protocol::Rows> rows;
    world.core->message("w1", world.toy.execute(assigned[0].second, assigned[0].second.items[0], world.artifacts, rows),
                        world.now);
    world.core->committed();
    EXPECT_TRUE(world.transport.take<Ack>().empty());
    world.database.commit();
    world.core->committed();
    const auto acks = world.transport.take<Ack>();
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_EQ(acks[0].second.keys, std::vector{assigned[0].second.items[0].key});
    EXPECT_FALSE(acks[0].second.stale);
}

TEST(CoreTest, ALostWorkersLateResultIsAdoptedAndTheSecondAttemptCancelled) {
    World world;
    world.join("w1");
    world.submit(world.request());
    const auto first = world.transport.take<Assign>();
    ASSERT_EQ(first.size(), 1U);
    world.now = world.now + Micros(60'000'000);
    world.core->tick(world.now);
    EXPECT_EQ(world.core->workers(), 0U);
    world.join("w2");
    const auto second = world.transport.take<Assign>();
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].first, "w2");
    EXPECT_GT(second[0].second.items[0].key.attempt, first[0].second.items[0].key.attempt);
    world.join("w1");
    std::vector<protocol::Rows> rows;
    world.core->message("w1", world.toy.execute(first[0].second, first[0].second.items[0], world.artifacts, rows),
                        world.now);
    const auto cancels = world.transport.take<protocol::Cancel>();
    ASSERT_EQ(cancels.size(), 1U);
    EXPECT_EQ(cancels[0].first, "w2");
    world.core->message("w2", world.toy.execute(second[0].second, second[0].second.items[0], world.artifacts, rows),
                        world.now);
    const auto acks = world.transport.take<Ack>();
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_TRUE(acks[0].second.stale) << "the action has ended: a second result counts nothing";
    world.play();
    EXPECT_EQ(world.database.tasks_in(TaskKind::kSplit, "done", false), 1);
}

TEST(CoreTest, ARestartedCoordinatorAdoptsWhatStillRunsAndWhatArrivesEarly) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.turn();
    world.turn();
    const auto builds = world.transport.take<Assign>();
    ASSERT_GE(builds.size(), 2U);
    world.database.commit();
    const auto before = world.toy.executed;
    world.restart();
    // One attempt has ended and is delivered before anybody asks for its action, another one still runs.
    protocol::Hello hello;
    hello.host = "w1";
    hello.slots = 2;
    hello.memory = Bytes{8LL << 30};
    for (int kind = 0; kind < kTaskKinds - 1; ++kind) {
        hello.capabilities.push_back({"toy", static_cast<TaskKind>(kind), kind == 0 ? "*" : "t1", sha256("tool")});
    }
    hello.devices.push_back({"cpu", "t1", "toy device", "{}", false, 2});
    hello.running.push_back(builds[1].second.items[0].key);
    world.core->message("w1", hello, world.now);
    std::vector<protocol::Rows> rows;
    world.core->message("w1", world.toy.execute(builds[0].second, builds[0].second.items[0], world.artifacts, rows),
                        world.now);
    world.submit(world.request());
    for (const auto& [peer, assign] : world.transport.take<Assign>()) {
        for (const protocol::Item& item : assign.items) {
            EXPECT_NE(item.key.action, builds[0].second.items[0].key.action);
            EXPECT_NE(item.key.action, builds[1].second.items[0].key.action);
        }
    }
    static_cast<void>(before);
}

TEST(CoreTest, LostMessagesAreNoticedByTheirCount) {
    World world;
    world.join("w1");
    world.core->message("w1", protocol::WorkerHeartbeat{{}, {}, 1}, world.now);
    EXPECT_TRUE(world.transport.take<protocol::Refused>().empty()) << "one before it, the hello: nothing is lost";
    world.core->message("w1", protocol::WorkerHeartbeat{{}, {}, 3}, world.now);
    const auto refused = world.transport.take<protocol::Refused>();
    ASSERT_EQ(refused.size(), 1U);
    EXPECT_TRUE(refused[0].second.hello_again);
}

TEST(CoreTest, HeartbeatsCountWhatWasSentBeforeThem) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.now = world.now + Micros(1'000'000);
    world.core->tick(world.now);
    const auto beats = world.transport.take<protocol::CoordinatorHeartbeat>();
    ASSERT_EQ(beats.size(), 1U);
    EXPECT_EQ(beats[0].second.sent, 2U) << "the welcome and the split";
}

TEST(CoreTest, AWorkerThatConnectsAgainGoesOnWithWhatItRuns) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.turn();
    world.turn();
    const auto builds = world.transport.take<Assign>();
    ASSERT_GE(builds.size(), 2U);
    const protocol::AttemptKey kept = builds[0].second.items[0].key;
    const protocol::AttemptKey lost = builds[1].second.items[0].key;
    world.running = {kept};
    world.join("w1");
    bool again = false;
    for (const auto& [peer, assign] : world.transport.take<Assign>()) {
        for (const protocol::Item& item : assign.items) {
            EXPECT_NE(item.key.action, kept.action) << "it still runs";
            again = again || item.key.action == lost.action;
            EXPECT_NE(item.key, lost) << "a new attempt has a new number";
        }
    }
    EXPECT_TRUE(again) << "what the worker does not hold is given away again";
    world.transport.take<Ack>();
    world.execute("w1", builds[0].second);
    world.database.commit();
    world.core->committed();
    const auto acks = world.transport.take<Ack>();
    ASSERT_EQ(acks.size(), 1U);
    EXPECT_FALSE(acks[0].second.stale);
}

TEST(CoreTest, AMeasurementGoesOnAfterAReconnectionWithoutLosingOrRepeatingRows) {
    World world;
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    std::vector<std::pair<std::string, Assign>> measure;
    while (measure.empty()) {
        for (const auto& [peer, assign] : world.transport.take<Assign>()) {
            assign.kind == TaskKind::kMeasure ? static_cast<void>(measure.emplace_back(peer, assign))
                                              : world.execute(peer, assign);
        }
        world.database.commit();
        world.core->committed();
    }
    const Assign& assign = measure[0].second;
    std::vector<protocol::Rows> rows;
    const protocol::AttemptResult result = world.toy.execute(assign, assign.items[0], world.artifacts, rows);
    protocol::Rows first = rows[0];
    first.rows.resize(10);
    world.core->message("w1", first, world.now);
    world.running = {assign.items[0].key};
    world.join("w1");
    EXPECT_TRUE(world.transport.take<Assign>().empty()) << "it is still being measured";
    world.core->message("w1", rows[0], world.now);
    world.core->message("w1", result, world.now);
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.database.samples_.size(), 36U);
}

TEST(CoreTest, AnUnknownPeerIsToldToSayHello) {
    World world;
    world.core->message("stranger", protocol::WorkerHeartbeat{}, world.now);
    const auto refused = world.transport.take<protocol::Refused>();
    ASSERT_EQ(refused.size(), 1U);
}

TEST(CoreTest, AHelperThatCannotCompileFailsItsStepWithTheCompilersWords) {
    World world;
    world.toy.helper_fails = true;
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kFailed);
    ASSERT_EQ(world.core->failures(id).size(), 1U);
    EXPECT_NE(world.core->failures(id)[0].find("helper.c:1: error: expected ';'"), std::string::npos);
    EXPECT_EQ(world.toy.executed[TaskKind::kHelper], 2) << "a failure is confirmed by a second attempt";
}

TEST(CoreTest, ABrokenKernelDropsItsSolutionOnlyAndItsFailureIsCached) {
    World world;
    world.toy.broken = {"k1"};
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.database.results_.size(), 2U);
    EXPECT_EQ(world.database.tasks_in(TaskKind::kBuild, "failed", false), 1);
    world.toy.executed.clear();
    world.submit(world.request());
    world.play();
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 0);
}

TEST(CoreTest, ConfigErrorsOfTheToolchainNameThePlaceInTheFile) {
    World world;
    world.toy.split_error = "BenchmarkProblems[0][1].ForkParameters.MacroTile0";
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kRejected);
    ASSERT_EQ(world.core->input_errors(id).size(), 1U);
    EXPECT_EQ(world.core->input_errors(id)[0].substr(0, 11), "toy.yaml:4:") << world.core->input_errors(id)[0];
}

TEST(CoreTest, ASplitWithoutUnitsIsTheDriversFaultNotTheConfigs) {
    World world;
    world.toy.group_names = {};
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kRejected);
    EXPECT_TRUE(world.core->input_errors(id).empty());
    ASSERT_EQ(world.core->failures(id).size(), 1U);
    EXPECT_NE(world.core->failures(id)[0].find("driver of toolchain toy is broken"), std::string::npos);
}

TEST(CoreTest, OutputNamesThatAreNoPlainFileNamesFailTheStep) {
    for (const char* name : {"../evil", "a/b", "", ".hidden", "line\nbreak", "helper"}) {
        World world;
        world.toy.library_name = name;
        world.join("w1");
        const CampaignId id = world.submit(world.request());
        world.play();
        EXPECT_EQ(world.core->state(id), CampaignState::kFailed) << name;
        EXPECT_EQ(world.toy.executed[TaskKind::kMeasure], 0) << name;
    }
}

TEST(CoreTest, AnAbsurdNumberOfPermutationsIsRefusedBeforeAnythingIsPrepared) {
    World world;
    world.join("w1");
    world.toy.kernels = 1'073'741'824;
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kRejected);
    ASSERT_EQ(world.core->input_errors(id).size(), 1U);
    const std::string& error = world.core->input_errors(id)[0];
    EXPECT_EQ(error.substr(0, 11), "toy.yaml:4:") << error;
    EXPECT_NE(error.find("1073741824 permutations; an exhaustive step may have 1000000"), std::string::npos) << error;
    EXPECT_EQ(world.toy.executed[TaskKind::kPrepare], 0);
}

TEST(CoreTest, EqualKernelsOfTwoStepsAreBuiltOnce) {
    World world;
    world.toy.group_names = {"g0", "g1"};
    world.toy.cache_keys = {"c0", "c1"};
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 3);
    EXPECT_EQ(world.toy.executed[TaskKind::kHelper], 1);
    EXPECT_EQ(world.database.tasks_in(TaskKind::kBuild, "done", true), 3);
}

TEST(CoreTest, RepeatedGroupNamesAndCacheDirectoriesMakeGates) {
    World world;
    world.toy.group_names = {"g", "g", "h"};
    world.toy.cache_keys = {"c", "d", "c"};
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.database.results_.size(), 9U) << "equal names overwrite nothing";
    bool same_name = false;
    for (const storage::GateRecord& gate : world.database.gates_)
        same_name = same_name || gate.reason == "same group name";
    EXPECT_TRUE(same_name);
}

TEST(CoreTest, BuildOnlyMeasuresNothingAndSaysBuilt) {
    World world;
    world.join("w1", 2, "tool", false);
    CampaignRequest request = world.request();
    request.build_only = true;
    request.measured_targets.clear();
    const CampaignId id = world.submit(request);
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kMeasure], 0);
    EXPECT_EQ(world.database.steps_.begin()->second.end, StepEnd::kBuilt);
}

TEST(CoreTest, CancellingOneCampaignLeavesSharedWorkToTheOther) {
    World world;
    world.join("w1");
    const CampaignId first = world.submit(world.request());
    const CampaignId second = world.submit(world.request());
    world.core->cancel(first, world.now);
    world.play();
    EXPECT_EQ(world.core->state(first), CampaignState::kCancelled);
    EXPECT_EQ(world.core->state(second), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 3);
}

TEST(CoreTest, TwoCampaignsExecuteSharedActionsOnce) {
    World world;
    world.join("w1");
    world.submit(world.request());
    world.submit(world.request());
    world.play();
    EXPECT_EQ(world.toy.executed[TaskKind::kSplit], 1);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 3);
    EXPECT_EQ(world.toy.executed[TaskKind::kMeasure], 2);
}

TEST(CoreTest, ACampaignOfHigherPriorityTakesTheNextSlots) {
    World world;
    world.join("w1", 1);
    // Configs that differ share nothing: six splits each.
    const auto request = [&world](int first, std::int32_t priority) {
        CampaignRequest out;
        for (int i = first; i < first + 6; ++i) {
            std::string text = World::kConfig;
            text.replace(text.find("[1, 2]"), 6, "[1, " + std::to_string(i) + "]");
            CampaignRequest one = world.request(text);
            out.configs.push_back(std::move(one.configs.front()));
            out.targets = out.measured_targets = one.targets;
        }
        out.name = "test";
        out.priority = priority;
        return out;
    };
    const CampaignId low = world.submit(request(10, 0));
    const CampaignId high = world.submit(request(20, 3));
    const auto running = [&world](CampaignId campaign) {
        world.database.commit();
        int count = 0;
        for (const auto& [id, task] : world.database.tasks_) {
            count += task.campaign == campaign && task.state == "running" ? 1 : 0;
        }
        return count;
    };
    EXPECT_EQ(running(high), 0) << "the other one was there first";
    const int slots = running(low);
    ASSERT_GT(slots, 1);
    ASSERT_LT(slots, 6) << "it still has work";
    world.turn();
    EXPECT_EQ(running(high), slots);
    EXPECT_EQ(running(low), 0);
    EXPECT_NE(world.database.campaigns_.at(high).options.find(R"("priority":3)"), std::string::npos);
}

TEST(CoreTest, AnInterruptedCampaignSaysSoAndItsCommittedWorkIsKept) {
    World world;
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.turn();
    world.turn();
    world.core->shut_down(false, "test");
    world.database.commit();
    EXPECT_EQ(world.database.campaigns_.at(id).state, "interrupted");
    const auto executed = world.toy.executed;
    EXPECT_EQ(executed.at(TaskKind::kSplit), 1);
    world.restart();
    world.join("w1");
    const storage::OpenCampaign open = world.database.open(id);
    ASSERT_EQ(world.core->submit(world.request(), &open, world.now).value(), id);
    world.play();
    EXPECT_EQ(world.core->state(id), CampaignState::kDone);
    EXPECT_EQ(world.toy.executed[TaskKind::kSplit], 1);
    EXPECT_EQ(world.toy.executed[TaskKind::kBuild], 3) << "no kernel is built twice";
    EXPECT_EQ(world.database.steps_.size(), 1U) << "the step keeps its id";
}

TEST(CoreTest, TheLowerBoundIsKeptForStatus) {
    World world;
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    world.play();
    EXPECT_GT(world.database.campaigns_.at(id).lower_bound_s, 0);
    EXPECT_EQ(world.database.campaigns_.at(id).lower_bound_s, world.core->progress(id).lower_bound_s);
    EXPECT_EQ(world.database.campaigns_.at(id).state, "done") << "the later record keeps the end";
}

TEST(CoreTest, AnotherToolchainIsAnotherCampaign) {
    World world;
    world.join("w1");
    CampaignRequest request = world.request();
    request.toolchains = world.core->fingerprints(request);
    ASSERT_FALSE(request.toolchains.empty());
    const Digest before = campaign_key(request);
    world.restart();
    world.join("w1", 2, "edited tool");
    request.toolchains = world.core->fingerprints(request);
    EXPECT_NE(campaign_key(request), before) << "its steps may hold other kernels: nothing of the old one is resumed";
}

TEST(CoreTest, AttemptNumbersOfAnEarlierProcessAreNotUsedAgain) {
    World world;
    world.join("w1");
    world.submit(world.request());
    const auto lost = world.transport.take<Assign>();
    ASSERT_EQ(lost.size(), 1U);
    world.database.commit();
    world.restart();
    world.join("w1");
    world.submit(world.request());
    const auto again = world.transport.take<Assign>();
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].second.items[0].key.action, lost[0].second.items[0].key.action);
    EXPECT_GT(again[0].second.items[0].key.attempt, lost[0].second.items[0].key.attempt + 1);
}

TEST(CoreTest, ProgressKnowsWhatIsLeft) {
    World world;
    world.join("w1");
    const CampaignId id = world.submit(world.request());
    EXPECT_GT(world.core->progress(id).left, 0);
    world.play();
    const Progress progress = world.core->progress(id);
    EXPECT_EQ(progress.left, 0);
    EXPECT_EQ(progress.running, 0);
    EXPECT_EQ(progress.done, 9) << "split, prepare, helper, 3 builds, finish, measure, conclude";
    EXPECT_GT(progress.lower_bound_s, 0);
}

}  // namespace
}  // namespace tunefarm::server
