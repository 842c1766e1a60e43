// SPDX-License-Identifier: MIT
#include "coordinator/schedule/scheduler.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tunefarm::schedule {
namespace {

const ClassSpec kBuild{TaskKind::kBuild, "gemm", "gfx942", {}};
const ClassSpec kHelper{TaskKind::kHelper, "gemm", "gfx942", {}};
const ClassSpec kPrepare{TaskKind::kPrepare, "gemm", "gfx942", {}};
const ClassSpec kFinish{TaskKind::kFinish, "gemm", "gfx942", {}};
const ClassSpec kMeasure{TaskKind::kMeasure, "gemm", "x86-64-v3", {}};
const ClassSpec kNoop{TaskKind::kNoop, "gemm", "gfx942", {}};

constexpr Bytes kGiB{1LL << 30};

/// A farm in a few words: workers join, work is added, "run" lists what starts, in order.
class SchedulerTest : public ::testing::Test {
  protected:
    void join(int id, std::uint32_t slots, std::uint32_t prefetch = 0, std::vector<DeviceSpec> devices = {}) {
        WorkerSpec spec;
        spec.host = "host" + std::to_string(id);
        spec.slots = slots;
        spec.prefetch = prefetch;
        spec.memory = Bytes{16 * kGiB.count};
        spec.abilities = {kBuild, kHelper, kPrepare, kFinish, kMeasure, kNoop};
        spec.devices = std::move(devices);
        scheduler_.worker_joined(WorkerId(id), spec);
    }

    void add(int id, const ClassSpec& cls, double seconds, double rank = 0, int campaign = 1, int priority = 0,
             Bytes memory = Bytes{1 << 20}) {
        predicted_[id] = Micros(static_cast<std::int64_t>(seconds * 1e6));
        scheduler_.add({ActionId(id), scheduler_.intern(cls), predicted_[id], memory},
                       {CampaignId(campaign), priority, rank, {}});
    }

    /// Ids of what starts now, in the order of the decisions.
    std::vector<std::int64_t> run() {
        std::vector<Dispatch> dispatches;
        scheduler_.decide(now_, dispatches);
        std::vector<std::int64_t> out;
        for (const Dispatch& dispatch : dispatches) {
            bundles_.push_back(dispatch.items.size());
            for (const Dispatch::Item& item : dispatch.items) {
                out.push_back(item.action.value());
                attempts_[item.action.value()] = item.attempt;
                where_[item.action.value()] = dispatch.worker.value();
            }
        }
        return out;
    }

    Verdict end(int id, Outcome outcome = Outcome::kOk) {
        return scheduler_.attempt_ended(ActionId(id), attempts_.at(id), outcome, predicted_[id], now_).verdict;
    }

    std::string why(ActionId id) {
        std::string out;
        for (const std::string& line : scheduler_.explain(id, now_).lines) out += (out.empty() ? "" : "; ") + line;
        return out;
    }

    using Ids = std::vector<std::int64_t>;
    Scheduler scheduler_;
    Instant now_{Micros(1)};
    std::map<std::int64_t, std::uint32_t> attempts_;
    std::map<std::int64_t, Micros> predicted_;
    std::map<std::int64_t, std::int64_t> where_;
    std::vector<std::size_t> bundles_;
};

TEST_F(SchedulerTest, LongestFirstWithinAStepAndStepsByRank) {
    join(1, 1);
    add(1, kBuild, 1.0, 2.0);
    add(2, kBuild, 1.0, 1.0);
    add(3, kBuild, 3.0, 1.0);
    EXPECT_EQ(run(), Ids{3});
    end(3);
    EXPECT_EQ(run(), Ids{2});
    end(2);
    EXPECT_EQ(run(), Ids{1});
}

TEST_F(SchedulerTest, NeverSendsMoreThanSlotsAndPrefetch) {
    join(1, 2, 1);
    for (int i = 1; i <= 6; ++i) add(i, kBuild, 1.0);
    EXPECT_EQ(run().size(), 3U);
    EXPECT_TRUE(run().empty());
    end(1);
    EXPECT_EQ(run().size(), 1U);
}

TEST_F(SchedulerTest, HelperComesFirstWithOneSlot) {
    join(1, 1);
    for (int i = 1; i <= 3; ++i) add(i, kBuild, 5.0);
    add(9, kHelper, 2.0);
    EXPECT_EQ(run(), Ids{9});
}

TEST_F(SchedulerTest, AHelperComesWithItsStepAndNotBeforeEarlierSteps) {
    join(1, 2);
    add(8, kHelper, 2.0, 1.0);
    add(9, kHelper, 2.0, 2.0);
    for (int i = 1; i <= 3; ++i) add(i, kBuild, 5.0, 1.0);
    add(4, kBuild, 9.0, 2.0);
    EXPECT_EQ(run(), (Ids{8, 1}));
    end(8);
    end(1);
    EXPECT_EQ(run(), (Ids{2, 3})) << "the first step's kernels come before the second one's helper";
    end(2);
    EXPECT_EQ(run(), Ids{9});
}

TEST_F(SchedulerTest, FinishingOutranksBuilding) {
    join(1, 1);
    add(1, kBuild, 9.0, 0.0);
    add(2, kFinish, 1.0, 99.0);
    EXPECT_EQ(run(), Ids{2});
}

TEST_F(SchedulerTest, PrepareFeedsTheBuildsOnlyWhileFewWait) {
    join(1, 1);
    for (int i = 1; i <= 10; ++i) add(i, kBuild, 1.0);
    add(20, kPrepare, 1.0);
    EXPECT_EQ(run(), Ids{1}) << "ten builds are plenty for one slot";
    for (int i = 1; i <= 9; ++i) {
        end(i);
        if (const Ids started = run(); started == Ids{20}) return;
    }
    FAIL() << "the prepare was not started before the builds ran out";
}

TEST_F(SchedulerTest, HigherPriorityOvertakesAtOnce) {
    join(1, 1);
    add(1, kBuild, 1.0, 0.0, 1, 0);
    add(2, kBuild, 1.0, 0.0, 1, 0);
    EXPECT_EQ(run(), Ids{1});
    add(3, kBuild, 1.0, 9.0, 2, 5);
    end(1);
    EXPECT_EQ(run(), Ids{3});
}

TEST_F(SchedulerTest, EqualCampaignsShareBySeconds) {
    join(1, 1);
    for (int i = 0; i < 50; ++i) {
        add(100 + i, kBuild, 1.0, 0.0, 1);
        add(200 + i, kBuild, 2.0, 0.0, 2);
    }
    double first = 0;
    double second = 0;
    for (int i = 0; i < 45; ++i) {
        const Ids started = run();
        ASSERT_EQ(started.size(), 1U);
        (started[0] < 200 ? first : second) += started[0] < 200 ? 1.0 : 2.0;
        end(static_cast<int>(started[0]));
    }
    EXPECT_NEAR(first, second, 0.1 * (first + second) / 2);
}

TEST_F(SchedulerTest, ACampaignThatWasIdleDoesNotCatchUp) {
    join(1, 1);
    for (int i = 1; i <= 20; ++i) add(i, kBuild, 1.0, 0.0, 1);
    for (int i = 1; i <= 10; ++i) {
        ASSERT_EQ(run(), Ids{i});
        end(i);
    }
    for (int i = 101; i <= 110; ++i) add(i, kBuild, 1.0, 0.0, 2);
    int second = 0;
    for (int i = 0; i < 10; ++i) {
        const Ids started = run();
        second += started[0] > 100 ? 1 : 0;
        end(static_cast<int>(started[0]));
    }
    EXPECT_GE(second, 4);
    EXPECT_LE(second, 6);
}

TEST_F(SchedulerTest, MemoryIsBudgeted) {
    join(1, 4);
    add(1, kBuild, 2.0, 0, 1, 0, Bytes{12 * kGiB.count});
    add(2, kBuild, 1.0, 0, 1, 0, Bytes{8 * kGiB.count});
    add(3, kBuild, 0.5, 0, 1, 0, Bytes{3 * kGiB.count});
    EXPECT_EQ(run(), (Ids{1, 3})) << "the second does not fit beside the first";
    EXPECT_NE(why(ActionId(2)).find("memory"), std::string::npos);
    end(1);
    EXPECT_EQ(run(), Ids{2});
}

TEST_F(SchedulerTest, AnActionThatNeedsMoreThanTheHostHasRunsAlone) {
    join(1, 2);
    add(1, kBuild, 2.0, 0, 1, 0, Bytes{64 * kGiB.count});
    EXPECT_EQ(run(), Ids{1});
}

TEST_F(SchedulerTest, AMeasurementThatTakesTheHostRunsAlone) {
    join(1, 2, 2, {{"x86-64-v4", 2}});
    add(1, kBuild, 1.0);
    add(9, kMeasure, 1.0);
    EXPECT_EQ(run(), Ids{1});
    EXPECT_NE(why(ActionId(9)).find("alone"), std::string::npos);
    end(1);
    EXPECT_EQ(run(), Ids{9});
    add(2, kBuild, 1.0);
    EXPECT_TRUE(run().empty()) << "nothing runs beside it";
    end(9);
    EXPECT_EQ(run(), Ids{2});
}

TEST_F(SchedulerTest, AGpuMeasuresBesideBuildsAndOneAtATime) {
    join(1, 1, 0, {{"x86-64-v3", 0}});
    add(1, kBuild, 1.0);
    add(8, kMeasure, 1.0);
    add(9, kMeasure, 1.0);
    EXPECT_EQ(run().size(), 2U);
    EXPECT_NE(why(ActionId(9)).find("free device"), std::string::npos);
    end(8);
    EXPECT_EQ(run(), Ids{9});
}

TEST_F(SchedulerTest, ALostWorkersActionsWaitAgainWithoutBlame) {
    join(1, 2);
    add(1, kBuild, 1.0);
    run();
    const auto lost = scheduler_.worker_lost(WorkerId(1), true, now_);
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].action, ActionId(1));
    EXPECT_FALSE(lost[0].failed);
    join(2, 1);
    EXPECT_EQ(run(), Ids{1});
    EXPECT_EQ(attempts_[1], 2U);
    EXPECT_EQ(end(1), Verdict::kDone);
}

TEST_F(SchedulerTest, AnAttemptThatIsTakenBackLeavesLaterNumbersTaken) {
    join(1, 1);
    add(1, kBuild, 1.0);
    for (int worker = 1; worker <= 2; ++worker) {
        ASSERT_EQ(run(), Ids{1});
        scheduler_.worker_lost(WorkerId(worker), true, now_);
        join(worker + 1, 1);
    }
    ASSERT_TRUE(scheduler_.adopt(WorkerId(3), ActionId(1), 1, -1, now_));
    scheduler_.worker_lost(WorkerId(3), true, now_);
    join(4, 1);
    ASSERT_EQ(run(), Ids{1});
    EXPECT_EQ(attempts_[1], 3U);
}

TEST_F(SchedulerTest, WhatKillsItsWorkersAgainAndAgainFails) {
    add(1, kBuild, 1.0);
    for (int worker = 1; worker <= 5; ++worker) {
        join(worker, 1);
        ASSERT_EQ(run(), Ids{1});
        ASSERT_FALSE(scheduler_.worker_lost(WorkerId(worker), true, now_)[0].failed);
        // A connection that breaks is no death.
        join(100 + worker, 1);
        ASSERT_EQ(run(), Ids{1});
        ASSERT_FALSE(scheduler_.worker_lost(WorkerId(100 + worker), false, now_)[0].failed);
    }
    join(6, 1);
    run();
    EXPECT_TRUE(scheduler_.worker_lost(WorkerId(6), true, now_)[0].failed);
    join(7, 1);
    EXPECT_TRUE(run().empty());
}

TEST_F(SchedulerTest, WhatTwoWorkersDiedUnderRunsAlone) {
    join(1, 4);
    add(1, kBuild, 2.0);
    add(2, kBuild, 1.0);
    for (int worker = 1; worker <= 2; ++worker) {
        EXPECT_EQ(run(), (Ids{1, 2}));
        scheduler_.worker_lost(WorkerId(worker), true, now_);
        join(worker + 1, 4);
    }
    add(3, kBuild, 0.5);
    EXPECT_EQ(run(), Ids{1}) << "neither the other suspect nor an innocent beside it";
    EXPECT_NE(why(ActionId(3)).find("may have killed a worker"), std::string::npos);
    scheduler_.worker_lost(WorkerId(3), true, now_);
    join(4, 4);
    run();
    end(1);
    EXPECT_EQ(run(), Ids{2});
    EXPECT_EQ(end(2), Verdict::kDone) << "it was only the neighbour";
}

TEST_F(SchedulerTest, WhatFailedWaitsForAHostThatIsExpectedBack) {
    join(1, 1);
    join(2, 1);
    add(1, kBuild, 2.0);
    ASSERT_EQ(run(), Ids{1});
    const int other = where_[1] == 1 ? 2 : 1;
    scheduler_.worker_lost(WorkerId(other), true, now_);
    end(1, Outcome::kCrashed);
    EXPECT_TRUE(run().empty()) << "the only host is the one on which it failed";
    now_ = now_ + Micros(600'000'001);
    EXPECT_EQ(run(), Ids{1}) << "the other one did not come back";
}

TEST_F(SchedulerTest, ResultsOfOldAttemptsAreStale) {
    join(1, 1);
    add(1, kBuild, 1.0);
    run();
    scheduler_.worker_lost(WorkerId(1), true, now_);
    EXPECT_EQ(scheduler_.attempt_ended(ActionId(1), 1, Outcome::kOk, Micros(1'000), now_).verdict, Verdict::kStale);
}

TEST_F(SchedulerTest, DiagnosticsAreConfirmedOnce) {
    join(1, 1);
    add(1, kBuild, 1.0);
    run();
    EXPECT_EQ(end(1, Outcome::kInputFailed), Verdict::kRetry);
    run();
    EXPECT_EQ(end(1, Outcome::kInputFailed), Verdict::kFailed);
}

TEST_F(SchedulerTest, CrashesAreRetriedThreeTimes) {
    join(1, 1);
    add(1, kBuild, 1.0);
    for (int i = 0; i < 2; ++i) {
        run();
        EXPECT_EQ(end(1, Outcome::kCrashed), Verdict::kRetry);
    }
    run();
    EXPECT_EQ(end(1, Outcome::kOutOfMemory), Verdict::kFailed);
}

TEST_F(SchedulerTest, AHostThatCannotIsNotAskedAgain) {
    join(1, 1);
    join(2, 1);
    add(1, kBuild, 1.0);
    run();
    const std::int64_t refused = where_[1];
    EXPECT_EQ(end(1, Outcome::kUnsupported), Verdict::kRetry);
    run();
    EXPECT_NE(where_[1], refused);
    EXPECT_EQ(end(1, Outcome::kUnsupported), Verdict::kFailed) << "nobody is left who could";
}

TEST_F(SchedulerTest, SharedActionsRunOnceAndStopWhenNobodyWantsThem) {
    join(1, 1);
    add(1, kBuild, 1.0, 0, 1);
    add(1, kBuild, 1.0, 0, 2);
    EXPECT_EQ(run(), Ids{1});
    EXPECT_FALSE(scheduler_.withdraw(ActionId(1), CampaignId(1)).gone);
    const auto withdrawn = scheduler_.withdraw(ActionId(1), CampaignId(2));
    EXPECT_TRUE(withdrawn.gone);
    ASSERT_EQ(withdrawn.cancel.size(), 1U);
    EXPECT_EQ(withdrawn.cancel[0].worker, WorkerId(1));
    add(2, kBuild, 1.0);
    EXPECT_EQ(run(), Ids{2}) << "its slot is free again";
}

TEST_F(SchedulerTest, TinyTasksAreBundledAndAccountedAsOneAssignment) {
    join(1, 2);
    for (int i = 1; i <= 800; ++i) add(i, kNoop, 0.0005);
    const Ids started = run();
    ASSERT_EQ(bundles_.size(), 2U);
    EXPECT_EQ(bundles_[0], 128U);
    for (const std::int64_t id : started) EXPECT_EQ(end(static_cast<int>(id)), Verdict::kDone);
    EXPECT_EQ(scheduler_.running(), 0U);
    EXPECT_FALSE(run().empty());
}

TEST_F(SchedulerTest, LongTasksAreNotBundled) {
    join(1, 2);
    for (int i = 1; i <= 100; ++i) add(i, kBuild, 0.3);
    run();
    EXPECT_EQ(bundles_, (std::vector<std::size_t>{1, 1}));
}

TEST_F(SchedulerTest, AStragglerGetsOneBackupElsewhereAndTheFirstToEndWins) {
    join(1, 1);
    join(2, 1);
    ActionSpec spec{ActionId(1), scheduler_.intern(kBuild), Micros(1'000'000), Bytes{1}, Micros(3'000'000)};
    scheduler_.add(spec, {CampaignId(1), 0, 0, {}});
    run();
    const std::int64_t first = where_[1];
    now_ = now_ + Micros(2'999'999);
    EXPECT_TRUE(run().empty());
    now_ = now_ + Micros(1);
    EXPECT_EQ(run(), Ids{1});
    EXPECT_NE(where_[1], first);
    EXPECT_TRUE(run().empty()) << "one backup is enough";
    const Ending ending = scheduler_.attempt_ended(ActionId(1), 2, Outcome::kOk, Micros(1'000), now_);
    EXPECT_EQ(ending.verdict, Verdict::kDone);
    ASSERT_EQ(ending.cancel.size(), 1U);
    EXPECT_EQ(ending.cancel[0].attempt, 1U);
    EXPECT_EQ(scheduler_.running(), 0U);
}

TEST_F(SchedulerTest, ANewAttemptIsNoStragglerByTheTimeOfTheOneBeforeIt) {
    join(1, 1);
    join(2, 1);
    join(3, 1);  // the backup goes where it has not failed
    scheduler_.add({ActionId(1), scheduler_.intern(kBuild), Micros(1'000'000), Bytes{1}, Micros(3'000'000)},
                   {CampaignId(1), 0, 0, {}});
    run();
    now_ = now_ + Micros(2'000'000);
    end(1, Outcome::kCrashed);
    EXPECT_EQ(run(), Ids{1});
    now_ = now_ + Micros(2'999'999);
    EXPECT_TRUE(run().empty());
    now_ = now_ + Micros(1);
    EXPECT_EQ(run(), Ids{1});
}

TEST_F(SchedulerTest, AStragglerIsFoundAmongThousandsOfAttemptsThatEnded) {
    join(1, 2);
    const auto start = [&](int id) {
        scheduler_.add({ActionId(id), scheduler_.intern(kBuild), Micros(1'000'000), Bytes{1}, Micros(3'000'000)},
                       {CampaignId(1), 0, 0, {}});
        return run();
    };
    start(1);
    for (int id = 2; id < 5000; ++id) {
        ASSERT_EQ(start(id), Ids{id});
        end(id);
    }
    join(2, 1);
    now_ = now_ + Micros(3'000'000);
    EXPECT_EQ(run(), Ids{1});
}

TEST_F(SchedulerTest, NoBackupWhileOtherWorkWaits) {
    join(1, 1);
    join(2, 1);
    scheduler_.add({ActionId(1), scheduler_.intern(kBuild), Micros(1'000'000), Bytes{1}, Micros(3'000'000)},
                   {CampaignId(1), 0, 0, {}});
    add(2, kBuild, 0.5);
    add(3, kBuild, 0.5);
    EXPECT_EQ(run().size(), 2U);
    now_ = now_ + Micros(10'000'000);
    EXPECT_TRUE(run().empty());
    end(2);
    EXPECT_EQ(run(), Ids{3});
}

TEST_F(SchedulerTest, AFailedCopyLeavesTheOtherRunning) {
    join(1, 1);
    join(2, 1);
    scheduler_.add({ActionId(1), scheduler_.intern(kBuild), Micros(1'000'000), Bytes{1}, Micros(3'000'000)},
                   {CampaignId(1), 0, 0, {}});
    run();
    now_ = now_ + Micros(4'000'000);
    run();
    EXPECT_EQ(scheduler_.attempt_ended(ActionId(1), 1, Outcome::kCrashed, Micros(1'000), now_).verdict,
              Verdict::kBackup);
    EXPECT_EQ(scheduler_.attempt_ended(ActionId(1), 2, Outcome::kOk, Micros(1'000), now_).verdict, Verdict::kDone);
}

TEST_F(SchedulerTest, ALateResultCompletesAWaitingAction) {
    join(1, 1);
    add(1, kBuild, 1.0);
    run();
    scheduler_.worker_lost(WorkerId(1), true, now_);
    EXPECT_TRUE(scheduler_.complete(ActionId(1)).empty());
    join(2, 1);
    EXPECT_TRUE(run().empty());
}

TEST_F(SchedulerTest, ExplainsMissingAbilities) {
    join(1, 1);
    add(1, {TaskKind::kBuild, "tensilelite", "gfx950", {}}, 1.0);
    EXPECT_TRUE(run().empty());
    EXPECT_EQ(why(ActionId(1)), "no connected worker can build with toolchain tensilelite for target gfx950");
}

TEST_F(SchedulerTest, AFullDiskStopsDispatchUntilSpaceReturns) {
    join(1, 2);
    scheduler_.worker_limits(WorkerId(1), 0, kGiB);
    add(1, kBuild, 1.0);
    EXPECT_TRUE(run().empty());
    EXPECT_NE(why(ActionId(1)).find("no new work"), std::string::npos);
    scheduler_.worker_limits(WorkerId(1), 2, kGiB);
    EXPECT_EQ(run(), Ids{1});
}

TEST_F(SchedulerTest, FairSharesCountWhatTasksTookNotWhatWasPredicted) {
    join(1, 1);
    for (int i = 1; i <= 40; ++i) add(i, kBuild, 1.0, 0.0, 1);
    for (int i = 101; i <= 140; ++i) add(i, kBuild, 1.0, 0.0, 2);
    // The first campaign's tasks take three times as long as predicted: it gets a third of the starts.
    for (auto& [id, took] : predicted_) took = Micros(id < 100 ? 3'000'000 : 1'000'000);
    double first = 0;
    double second = 0;
    for (int i = 0; i < 40; ++i) {
        const std::int64_t id = run().at(0);
        (id < 100 ? first : second) += id < 100 ? 3 : 1;
        end(static_cast<int>(id));
    }
    EXPECT_NEAR(first / second, 1.0, 0.1);
}

TEST_F(SchedulerTest, SharedWorkIsPaidInEqualParts) {
    join(1, 1);
    add(1, kBuild, 10.0, 0.0, 1);
    add(1, kBuild, 10.0, 0.0, 2);
    for (int i = 11; i <= 20; ++i) add(i, kBuild, 1.0, 0.0, 1);
    for (int i = 21; i <= 30; ++i) add(i, kBuild, 1.0, 0.0, 2);
    EXPECT_EQ(run(), Ids{1});
    end(1);
    int first = 0;
    for (int i = 0; i < 10; ++i) {
        const std::int64_t id = run().at(0);
        first += id <= 20 ? 1 : 0;
        end(static_cast<int>(id));
    }
    EXPECT_EQ(first, 5);
}

TEST_F(SchedulerTest, AMeasurementOfHigherPriorityDoesNotWaitForTheBuildsOfOthers) {
    join(1, 2, 0, {{"x86-64-v4", 2}});
    for (int i = 1; i <= 8; ++i) add(i, kBuild, 1.0, 0, 1);
    EXPECT_EQ(run(), (Ids{1, 2}));
    add(9, kMeasure, 1.0, 0, 2, 5);
    end(1);
    EXPECT_TRUE(run().empty()) << "the host is emptied for it";
    EXPECT_EQ(why(ActionId(3)), "host1: a measurement of higher priority needs the whole host first");
    end(2);
    EXPECT_EQ(run(), Ids{9});
    end(9);
    EXPECT_EQ(run(), (Ids{3, 4}));
}

TEST_F(SchedulerTest, AFailedActionIsTriedOnAnotherHost) {
    join(1, 2);
    join(2, 1);
    add(1, kBuild, 5.0);
    add(2, kBuild, 4.0);
    add(3, kBuild, 3.0);
    EXPECT_EQ(run(), (Ids{1, 2, 3}));
    const std::int64_t failed_on = where_[1];
    ASSERT_EQ(end(1, Outcome::kCrashed), Verdict::kRetry);
    EXPECT_TRUE(run().empty()) << "its host has a free slot, but it failed there";
    EXPECT_NE(why(ActionId(1)).find("another host tries it next"), std::string::npos);
    for (const int other : {2, 3}) {
        if (where_[other] != failed_on) end(other);
    }
    EXPECT_EQ(run(), Ids{1});
    EXPECT_NE(where_[1], failed_on);
    ASSERT_EQ(end(1, Outcome::kCrashed), Verdict::kRetry);
    EXPECT_EQ(run(), Ids{1}) << "it failed on every host: any may try again";
}

/// Host 1 fails everything, host 2 does it.
class QuarantineTest : public SchedulerTest {
  protected:
    /// Runs what starts until nothing does: host 1 fails, the others succeed. Returns starts on host 1.
    int drain() {
        int bad = 0;
        for (;;) {
            const Ids started = run();
            if (started.empty()) return bad;
            for (const std::int64_t id : started) {
                const bool on_bad = where_[id] == 1;
                bad += on_bad ? 1 : 0;
                end(static_cast<int>(id), on_bad && broken_ ? Outcome::kCrashed : Outcome::kOk);
            }
        }
    }
    bool broken_ = true;
};

TEST_F(QuarantineTest, AHostThatFailsWhereOthersSucceedGetsNoMoreWorkUntilAProbeSucceeds) {
    join(1, 1);
    join(2, 1);
    for (int i = 1; i <= 30; ++i) add(i, kBuild, 1.0);
    const int tried = drain();
    EXPECT_GE(tried, 3) << "three strikes, and what it had begun before others had proved them";
    EXPECT_LE(tried, 5);
    ASSERT_EQ(scheduler_.take_host_changes().size(), 1U);

    scheduler_.worker_limits(WorkerId(2), 0, kGiB);
    add(40, kBuild, 1.0);
    EXPECT_TRUE(run().empty());
    EXPECT_NE(why(ActionId(40)).find("actions failed on it and were done by other hosts"), std::string::npos)
        << why(ActionId(40));
    now_ = now_ + Micros(60'000'000);
    add(41, kBuild, 1.0);
    EXPECT_EQ(run(), Ids{40}) << "one probe";
    EXPECT_TRUE(run().empty());
    end(40, Outcome::kCrashed);
    now_ = now_ + Micros(119'000'000);
    EXPECT_TRUE(run().empty()) << "the next probe comes later";
    now_ = now_ + Micros(1'000'000);
    EXPECT_EQ(run().size(), 1U);
    end(where_.contains(41) ? 41 : 40);
    broken_ = false;
    EXPECT_EQ(drain(), 1) << "trusted again";
}

TEST_F(QuarantineTest, ActionsThatFailEverywhereSayNothingAboutHosts) {
    join(1, 1);
    join(2, 1);
    for (int i = 1; i <= 20; ++i) add(i, kBuild, 1.0);
    for (Ids started = run(); !started.empty(); started = run()) {
        for (const std::int64_t id : started) end(static_cast<int>(id), Outcome::kCrashed);
    }
    EXPECT_TRUE(scheduler_.take_host_changes().empty());
    add(30, kBuild, 1.0);
    EXPECT_EQ(run(), Ids{30});
}

TEST_F(QuarantineTest, AQuarantinedHostStaysSoWhenItsWorkerIsStartedAgain) {
    join(1, 1);
    join(2, 1);
    for (int i = 1; i <= 30; ++i) add(i, kBuild, 1.0);
    drain();
    scheduler_.worker_lost(WorkerId(1), true, now_);
    join(1, 1);
    for (int i = 31; i <= 40; ++i) add(i, kBuild, 1.0);
    EXPECT_EQ(drain(), 0);
}

TEST_F(QuarantineTest, OneFailureInTwentyIsBorne) {
    join(1, 1);
    join(2, 1);
    for (int i = 1; i <= 600; ++i) add(i, kBuild, 1.0);
    int on_first = 0;
    for (Ids started = run(); !started.empty(); started = run()) {
        for (const std::int64_t id : started) {
            const bool fails = where_[id] == 1 && ++on_first % 20 == 0;
            end(static_cast<int>(id), fails ? Outcome::kCrashed : Outcome::kOk);
        }
    }
    EXPECT_TRUE(scheduler_.take_host_changes().empty());
    EXPECT_GT(on_first, 250);
}

TEST_F(SchedulerTest, EqualHistoriesGiveEqualDecisions) {
    const auto play = [] {
        Scheduler scheduler;
        std::string trace;
        WorkerSpec spec;
        spec.host = "h";
        spec.slots = 3;
        spec.memory = kGiB;
        spec.abilities = {kBuild, kHelper};
        for (int w = 1; w <= 4; ++w) scheduler.worker_joined(WorkerId(w), spec);
        for (int i = 1; i <= 100; ++i) {
            scheduler.add({ActionId(i), scheduler.intern(i % 7 == 0 ? kHelper : kBuild),
                           Micros(100'000 + i * 37 % 1000), Bytes{1}},
                          {CampaignId(i % 3 + 1), 0, static_cast<double>(i % 5), {}});
        }
        for (int round = 0; round < 40; ++round) {
            std::vector<Dispatch> dispatches;
            scheduler.decide(Instant{}, dispatches);
            for (const Dispatch& d : dispatches) {
                trace += std::to_string(d.worker.value()) + ":" + std::to_string(d.items[0].action.value()) + " ";
                scheduler.attempt_ended(d.items[0].action, d.items[0].attempt, Outcome::kOk, Micros(1'000), Instant{});
            }
        }
        return trace;
    };
    EXPECT_EQ(play(), play());
}

}  // namespace
}  // namespace tunefarm::schedule
