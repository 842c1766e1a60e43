// SPDX-License-Identifier: MIT
#include "coordinator/schedule/graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tunefarm::schedule {
namespace {

constexpr CampaignId kCampaign{1};
constexpr ConfigId kConfig{1};

class GraphTest : public ::testing::Test {
  protected:
    void SetUp() override {
        graph_.add_campaign(kCampaign, 1);
        graph_.add_config(kCampaign, kConfig);
    }

    static NewStep step(int id, bool measured = true, int prepare_after = 0, int conclude_after = 0) {
        NewStep out;
        out.id = StepId(id);
        out.measured = measured;
        out.prepare_after = StepId(prepare_after);
        out.conclude_after = StepId(conclude_after);
        return out;
    }

    /// "prepare 1", "build 1/0" … of everything that is ready, sorted.
    std::vector<std::string> ready() {
        std::vector<ReadyTask> tasks = graph_.take_ready();
        for (const ReadyTask& task : graph_.admit_builds(kCampaign, 1000)) tasks.push_back(task);
        std::vector<std::string> out;
        for (const ReadyTask& task : tasks) {
            std::string text = std::string(to_string(task.kind)) + " " + std::to_string(task.step.value());
            if (task.kind == TaskKind::kBuild || task.kind == TaskKind::kMeasure)
                text += "/" + std::to_string(task.index);
            out.push_back(text);
        }
        std::sort(out.begin(), out.end());
        return out;
    }

    void prepared(int id, int kernels, int problems, bool helper = true) {
        graph_.prepared(StepId(id), {std::vector<float>(static_cast<std::size_t>(kernels), 1.0F), helper, problems});
    }
    void ok(int id, TaskKind kind) { graph_.task_ended(StepId(id), kind, true, ""); }
    void bad(int id, TaskKind kind, const std::string& why = "broken") {
        graph_.task_ended(StepId(id), kind, false, why);
    }
    std::string waits(int id, TaskKind kind) {
        for (const Graph::Wait& wait : graph_.waits(StepId(id))) {
            if (wait.kind == kind) return std::to_string(wait.count) + " " + wait.reason;
        }
        return "";
    }
    /// How the step ended: "measured", "failed: why", or "open".
    std::string end(int id) {
        for (const StepChange& change : graph_.take_changes()) {
            if (change.end == StepEnd::kNone) continue;
            ends_[change.step.value()] =
                std::string(to_string(change.end)) + (change.message.empty() ? "" : ": ") + change.message;
        }
        return ends_.contains(id) ? ends_[id] : "open";
    }
    /// From the split to the point where everything but conclude is done.
    void play_to_conclude(int id) {
        prepared(id, 1, 1);
        ready();
        ok(id, TaskKind::kHelper);
        ok(id, TaskKind::kBuild);
        ok(id, TaskKind::kFinish);
        ready();
        ok(id, TaskKind::kMeasure);
    }

    using Names = std::vector<std::string>;
    Graph graph_;
    std::map<std::int64_t, std::string> ends_;
};

TEST_F(GraphTest, AStepGoesThroughItsLife) {
    EXPECT_EQ(ready(), Names{"split 0"});
    graph_.split_done(kConfig, {step(1)});
    EXPECT_EQ(ready(), Names{"prepare 1"});
    prepared(1, 2, 2);
    EXPECT_EQ(ready(), (Names{"build 1/0", "build 1/1", "helper 1"}));
    ok(1, TaskKind::kBuild);
    ok(1, TaskKind::kBuild);
    EXPECT_EQ(ready(), Names{"finish 1"}) << "finish needs no helper object";
    ok(1, TaskKind::kFinish);
    EXPECT_EQ(ready(), Names{}) << "the bundle needs it";
    ok(1, TaskKind::kHelper);
    EXPECT_EQ(ready(), (Names{"measure 1/0", "measure 1/1"}));
    ok(1, TaskKind::kMeasure);
    ok(1, TaskKind::kMeasure);
    EXPECT_EQ(ready(), Names{"conclude 1"});
    ok(1, TaskKind::kConclude);
    EXPECT_EQ(end(1), "measured");
    EXPECT_EQ(graph_.state(kCampaign), CampaignState::kDone);
}

TEST_F(GraphTest, BuildOnlyStepsEndAsBuiltWithoutMeasuring) {
    graph_.split_done(kConfig, {step(1, false)});
    ready();
    prepared(1, 1, 3);
    ready();
    ok(1, TaskKind::kBuild);
    ok(1, TaskKind::kFinish);
    EXPECT_EQ(ready(), Names{"finish 1"});
    EXPECT_EQ(ready(), Names{}) << "conclude waits for the helper, also in a build-only run";
    ok(1, TaskKind::kHelper);
    EXPECT_EQ(ready(), Names{"conclude 1"});
    ok(1, TaskKind::kConclude);
    EXPECT_EQ(end(1), "built");
}

TEST_F(GraphTest, SameCacheDirectoryHoldsPrepareUntilFinish) {
    graph_.split_done(kConfig, {step(1), step(2, true, 1, 0)});
    EXPECT_EQ(ready(), (Names{"prepare 1", "split 0"}));
    prepared(1, 1, 1);
    ready();
    ok(1, TaskKind::kBuild);
    EXPECT_EQ(ready(), Names{"finish 1"});
    ok(1, TaskKind::kFinish);
    EXPECT_EQ(ready(), Names{"prepare 2"});
}

TEST_F(GraphTest, SameGroupNameHoldsOnlyConclude) {
    ready();
    graph_.split_done(kConfig, {step(1), step(2, true, 0, 1)});
    EXPECT_EQ(ready(), (Names{"prepare 1", "prepare 2"}));
    play_to_conclude(2);
    EXPECT_EQ(ready(), Names{}) << "step 1 has not published its files";
    play_to_conclude(1);
    EXPECT_EQ(ready(), Names{"conclude 1"});
    ok(1, TaskKind::kConclude);
    EXPECT_EQ(ready(), Names{"conclude 2"});
}

TEST_F(GraphTest, AFailedStepFailsThoseGatedOnItAndNotItsNeighbours) {
    ready();
    graph_.split_done(kConfig, {step(1), step(2, true, 1, 0), step(3)});
    ready();
    bad(1, TaskKind::kPrepare, "no memory");
    EXPECT_EQ(end(1), "failed: prepare: no memory");
    EXPECT_EQ(end(2).substr(0, 7), "failed:");
    play_to_conclude(3);
    ok(3, TaskKind::kConclude);
    EXPECT_EQ(end(3), "measured");
    EXPECT_EQ(graph_.state(kCampaign), CampaignState::kFailed);
}

TEST_F(GraphTest, AHelperFailureIsRaisedAtTheConclusion) {
    graph_.split_done(kConfig, {step(1)});
    ready();
    prepared(1, 2, 1);
    ready();
    bad(1, TaskKind::kHelper, "helper.c:3: error: no");
    EXPECT_EQ(end(1), "open") << "builds go on: their kernels are cached for the next run";
    ok(1, TaskKind::kBuild);
    ok(1, TaskKind::kBuild);
    EXPECT_EQ(ready(), Names{"finish 1"});
    ok(1, TaskKind::kFinish);
    EXPECT_EQ(end(1), "failed: helper: helper.c:3: error: no");
    EXPECT_EQ(ready(), Names{});
}

TEST_F(GraphTest, AFailedKernelDropsNothingElse) {
    graph_.split_done(kConfig, {step(1)});
    ready();
    prepared(1, 2, 1);
    ready();
    bad(1, TaskKind::kBuild);
    ok(1, TaskKind::kBuild);
    EXPECT_EQ(ready(), Names{"finish 1"});
}

TEST_F(GraphTest, AStepWithoutAnyKernelFailsWithTheFirstReason) {
    graph_.split_done(kConfig, {step(1)});
    ready();
    prepared(1, 2, 1);
    ready();
    bad(1, TaskKind::kBuild, "spills");
    bad(1, TaskKind::kBuild, "other");
    EXPECT_EQ(end(1), "failed: no kernel could be built; the first failure: spills");
}

TEST_F(GraphTest, NothingStartsBeforeEveryConfigIsSplit) {
    Graph graph;
    graph.add_campaign(kCampaign, 2);
    graph.add_config(kCampaign, ConfigId(1));
    graph.add_config(kCampaign, ConfigId(2));
    graph.take_ready();
    graph.split_done(ConfigId(1), {step(1)});
    EXPECT_TRUE(graph.take_ready().empty());
    graph.split_failed(ConfigId(2), "bad");
    EXPECT_TRUE(graph.take_ready().empty());
    EXPECT_EQ(graph.state(kCampaign), CampaignState::kRejected);
}

TEST_F(GraphTest, BuildsAreAdmittedInWindowsBestStepFirstLongestFirst) {
    NewStep small = step(1);
    small.cpu_seconds = 1;
    small.device_seconds = 5;
    NewStep large = step(2);
    large.cpu_seconds = 100;
    large.device_seconds = 500;
    ready();
    graph_.split_done(kConfig, {large, small});
    graph_.take_ready();
    graph_.prepared(StepId(2), {{1.0F, 9.0F, 2.0F}, false, 1});
    graph_.prepared(StepId(1), {{1.0F, 3.0F}, false, 1});
    const std::vector<ReadyTask> first = graph_.admit_builds(kCampaign, 3);
    ASSERT_EQ(first.size(), 3U);
    EXPECT_EQ(first[0].step, StepId(1));
    EXPECT_EQ(first[0].index, 1);
    EXPECT_EQ(first[1].step, StepId(1));
    EXPECT_EQ(first[2].step, StepId(2));
    EXPECT_EQ(first[2].index, 1);
    EXPECT_EQ(graph_.admit_builds(kCampaign, 10).size(), 2U);
}

TEST_F(GraphTest, JohnsonsRuleOrdersByCpuThenByDevice) {
    // a/C < b/G first by ascending a, then the others by descending b.
    graph_.set_capacity(1, 1);
    std::vector<NewStep> steps;
    const std::vector<std::pair<double, double>> work = {{5, 9}, {2, 3}, {8, 1}, {7, 4}};
    for (std::size_t i = 0; i < work.size(); ++i) {
        NewStep next = step(static_cast<int>(i) + 1);
        next.cpu_seconds = work[i].first;
        next.device_seconds = work[i].second;
        steps.push_back(next);
    }
    graph_.split_done(kConfig, steps);
    EXPECT_LT(graph_.rank(StepId(2)), graph_.rank(StepId(1)));
    EXPECT_LT(graph_.rank(StepId(1)), graph_.rank(StepId(4)));
    EXPECT_LT(graph_.rank(StepId(4)), graph_.rank(StepId(3)));
}

TEST_F(GraphTest, CancellingEndsAllStepsAndReleasesNothing) {
    graph_.split_done(kConfig, {step(1), step(2, true, 1, 0)});
    graph_.cancel(kCampaign);
    EXPECT_TRUE(graph_.take_ready().empty());
    EXPECT_EQ(end(1), "cancelled: cancelled");
    EXPECT_EQ(graph_.state(kCampaign), CampaignState::kCancelled);
}

TEST_F(GraphTest, SaysWhatTheTasksOfAStepWaitFor) {
    graph_.split_done(kConfig, {step(1), step(2, true, 1, 0), step(3, true, 0, 1)});
    ready();
    EXPECT_EQ(waits(2, TaskKind::kPrepare), "1 gate: waits for finish of step 1 (same cache directory)");
    prepared(1, 3, 2);
    graph_.admit_builds(kCampaign, 1);
    EXPECT_EQ(waits(1, TaskKind::kBuild), "2 waits for earlier builds of its campaign");
    EXPECT_EQ(waits(1, TaskKind::kFinish), "1 waits for 3 of its step's 3 builds");
    EXPECT_EQ(waits(1, TaskKind::kMeasure), "2 waits for its step's finish");
    prepared(3, 1, 1, false);
    ok(3, TaskKind::kBuild);
    ok(3, TaskKind::kFinish);
    EXPECT_EQ(waits(3, TaskKind::kConclude), "1 waits for 1 of its step's 1 measurements");
    ok(3, TaskKind::kMeasure);
    EXPECT_EQ(waits(3, TaskKind::kConclude), "1 gate: waits for conclude of step 1 (same group name)");
    for (int i = 0; i < 3; ++i) ok(1, TaskKind::kBuild);
    ok(1, TaskKind::kFinish);
    EXPECT_EQ(waits(1, TaskKind::kMeasure), "2 waits for its step's helper");
    EXPECT_EQ(waits(2, TaskKind::kPrepare), "") << "its gate has opened";
}

TEST_F(GraphTest, CampaignsAreAdmittedEachByItself) {
    ready();
    graph_.add_campaign(CampaignId(2), 1);
    graph_.add_config(CampaignId(2), ConfigId(2));
    graph_.split_done(kConfig, {step(1)});
    graph_.split_done(ConfigId(2), {step(2)});
    prepared(1, 5, 1);
    prepared(2, 3, 1);
    EXPECT_EQ(graph_.building(), (std::vector<CampaignId>{kCampaign, CampaignId(2)}));
    EXPECT_EQ(graph_.admit_builds(CampaignId(2), 10).size(), 3U);
    EXPECT_EQ(graph_.building(), std::vector<CampaignId>{kCampaign});
    graph_.cancel(kCampaign);
    EXPECT_TRUE(graph_.building().empty());
    EXPECT_TRUE(graph_.admit_builds(kCampaign, 10).empty());
}

}  // namespace
}  // namespace tunefarm::schedule
