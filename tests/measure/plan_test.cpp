// SPDX-License-Identifier: MIT
#include "worker/measure/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/measure/simulated_machine.h"

namespace tunefarm::worker {
namespace {

using Phase = Request::Phase;
using Names = std::vector<std::string>;

std::vector<Row> validated(const Request& request, const std::set<std::string>& wrong = {}) {
    std::vector<Row> rows;
    for (const std::string& name : request.order) {
        Row row;
        row.solution = name;
        row.passed = !wrong.contains(name);
        if (!row.passed) row.message = "wrong results: error 3";
        rows.push_back(row);
    }
    return rows;
}

std::vector<Row> timed(const Request& request, double us = 1000) {
    std::vector<Row> rows;
    for (const std::string& name : request.order) {
        Row row;
        row.solution = name;
        row.us = us;
        rows.push_back(row);
    }
    return rows;
}

/// A plan that is past its validation.
MeasurePlan timing_plan(const Names& names, Policy policy = {}) {
    MeasurePlan plan(names, 1, policy);
    const Request request = plan.next();
    EXPECT_TRUE(plan.add(validated(request), Micros{0}).ok());
    return plan;
}

TEST(Plan, ValidatesEverySolutionOnceAndFirst) {
    MeasurePlan plan({"a", "b", "c"}, 1, {});
    const Request first = plan.next();
    EXPECT_EQ(first.phase, Phase::kValidate);
    EXPECT_EQ(first.order, (Names{"a", "b", "c"}));
    EXPECT_FALSE(first.fresh_process);
    ASSERT_TRUE(plan.add(validated(first), Micros{0}).ok());
    EXPECT_EQ(plan.next().phase, Phase::kTime);
}

TEST(Plan, WrongSolutionsAreNeverTimed) {
    MeasurePlan plan({"a", "b", "c"}, 1, {});
    const Request first = plan.next();
    ASSERT_TRUE(plan.add(validated(first, {"b"}), Micros{0}).ok());
    EXPECT_EQ(plan.status(1), SolutionStatus::kFailed);
    EXPECT_EQ(plan.message(1), "wrong results: error 3");
    const Request second = plan.next();
    EXPECT_EQ(std::count(second.order.begin(), second.order.end(), "b"), 0);
}

TEST(Plan, EndsWhenNothingIsValid) {
    MeasurePlan plan({"a", "b"}, 1, {});
    ASSERT_TRUE(plan.add(validated(plan.next(), {"a", "b"}), Micros{0}).ok());
    EXPECT_TRUE(plan.finished());
    EXPECT_TRUE(MeasurePlan({}, 1, {}).finished());
}

TEST(Plan, ABlockIsPermutationsAndItsFirstIsWarmUp) {
    MeasurePlan plan = timing_plan({"a", "b", "c", "d"});
    const Request block = plan.next();
    ASSERT_EQ(block.order.size(), 12u) << "warm-up and two passes";
    for (std::size_t pass = 0; pass < 3; ++pass) {
        Names names(block.order.begin() + static_cast<std::ptrdiff_t>(4 * pass),
                    block.order.begin() + static_cast<std::ptrdiff_t>(4 * pass + 4));
        std::sort(names.begin(), names.end());
        EXPECT_EQ(names, (Names{"a", "b", "c", "d"}));
    }
    ASSERT_TRUE(plan.add(timed(block), Micros{1}).ok());
    EXPECT_EQ(plan.samples().size(), 8u);
    EXPECT_EQ(plan.warmups(0), 1);
    for (const Sample& sample : plan.samples()) EXPECT_EQ(sample.block, 0);
    EXPECT_TRUE(plan.next().fresh_process) << "the next block has a process of its own";
}

TEST(Plan, TheSameSeedAsksTheSameAndAnotherSeedDoesNot) {
    const auto orders = [](std::uint64_t seed) {
        MeasurePlan plan({"a", "b", "c", "d", "e", "f", "g"}, seed, {});
        (void)plan.add(validated(plan.next()), Micros{0});
        std::vector<Names> asked;
        for (int i = 0; i < 3; ++i) {
            const Request request = plan.next();
            asked.push_back(request.order);
            (void)plan.add(timed(request), Micros{1});
        }
        return asked;
    };
    EXPECT_EQ(orders(4), orders(4));
    EXPECT_NE(orders(4), orders(5));
}

TEST(Plan, PositionsBalanceOut) {
    // Each of three solutions should be first about as often as the others.
    Policy policy;
    policy.enough_blocks = 1000;
    policy.max_blocks = 200;
    MeasurePlan plan = timing_plan({"a", "b", "c"}, policy);
    std::map<std::string, int> first;
    int passes = 0;
    for (int block = 0; block < 150; ++block) {
        const Request request = plan.next();
        for (std::size_t i = 0; i < request.order.size(); i += 3, ++passes) ++first[request.order[i]];
        ASSERT_TRUE(plan.add(timed(request), Micros{1}).ok());
    }
    for (const auto& [name, count] : first) EXPECT_NEAR(count, passes / 3.0, passes * 0.05) << name;
}

TEST(Plan, CheapSolutionsGetMorePassesDearOnesFewer) {
    const auto third_block = [](double us) {
        MeasurePlan plan = timing_plan({"a", "b"});
        for (int i = 0; i < 2; ++i) {
            const Request request = plan.next();
            (void)plan.add(timed(request, us), Micros{1});
        }
        return plan.next().order.size();
    };
    EXPECT_EQ(third_block(100), 2u * 9) << "8 passes at most";
    EXPECT_EQ(third_block(12'500), 2u * 5) << "as many as fit in 100 ms";
    EXPECT_EQ(third_block(60'000), 2u * 3) << "2 at least";
    EXPECT_EQ(third_block(200'000), 2u * 2) << "unless a pass takes long";
}

TEST(Plan, LargeFieldsAreSplitIntoSeveralRequestsOfOneBlock) {
    Names names;
    for (int i = 0; i < 300; ++i) names.push_back("solution_" + std::to_string(i));
    Policy policy;
    policy.request_entries = 128;
    MeasurePlan plan(names, 1, policy);
    Names asked;
    while (true) {
        const Request request = plan.next();
        if (request.phase != Phase::kValidate) {
            EXPECT_EQ(asked, names);
            EXPECT_EQ(request.order.size(), 128u);
            ASSERT_TRUE(plan.add(timed(request), Micros{1}).ok());
            break;
        }
        EXPECT_LE(request.order.size(), 128u);
        asked.insert(asked.end(), request.order.begin(), request.order.end());
        ASSERT_TRUE(plan.add(validated(request), Micros{0}).ok());
    }
    for (int i = 0; i < 7; ++i) {
        const Request more = plan.next();
        EXPECT_FALSE(more.fresh_process);
        ASSERT_TRUE(plan.add(timed(more), Micros{1}).ok());
    }
    EXPECT_EQ(plan.blocks(), 1);
    EXPECT_EQ(plan.samples().size(), 600u);
    EXPECT_TRUE(plan.next().fresh_process);

    policy.request_bytes = 29;
    MeasurePlan narrow(names, 1, policy);
    EXPECT_EQ(narrow.next().order.size(), 2u) << "lines of the channel are limited";
}

TEST(Plan, SteadySolutionsConverge) {
    const std::map<std::string, double> times{{"a", 1000}, {"b", 1100}};
    SimulatedMachine machine(times, 1);
    machine.sample_noise = 0.002;
    MeasurePlan plan(names_of(times), 1, {});
    race_to_the_end(plan, machine);
    EXPECT_EQ(plan.status(0), SolutionStatus::kConverged);
    EXPECT_EQ(plan.blocks(), 9) << "the least that is enough";
}

TEST(Plan, ClearLosersAreScreenedWithTheReason) {
    const std::map<std::string, double> times{{"a", 1000}, {"b", 4000}};
    SimulatedMachine machine(times, 1);
    MeasurePlan plan(names_of(times), 1, {});
    race_to_the_end(plan, machine);
    EXPECT_EQ(plan.status(1), SolutionStatus::kScreened);
    EXPECT_EQ(plan.message(1), "slower than a by a factor above 1.50 in each of 2 blocks");
    EXPECT_EQ(
        std::count_if(plan.samples().begin(), plan.samples().end(), [](const Sample& s) { return s.solution == 1; }),
        4);
}

TEST(Plan, WideIntervalsAreCalledNoisy) {
    const std::map<std::string, double> times{{"a", 1000}, {"b", 1500}};
    SimulatedMachine machine(times, 1);
    machine.process_spread = 0.4;
    MeasurePlan plan(names_of(times), 1, {});
    race_to_the_end(plan, machine);
    EXPECT_EQ(plan.status(0), SolutionStatus::kNoisy) << "the winner is clear, its time is not";
    EXPECT_EQ(plan.blocks(), 12);
}

TEST(Plan, TheWallBudgetEndsTheRaceBetweenRequests) {
    Policy policy;
    policy.wall_budget = Micros{1000};
    MeasurePlan plan({"a", "b"}, 1, policy);
    ASSERT_TRUE(plan.add(validated(plan.next()), Micros{50'000}).ok());
    EXPECT_FALSE(plan.finished()) << "validation does not count";
    ASSERT_TRUE(plan.add(timed(plan.next()), Micros{50'999}).ok());
    EXPECT_FALSE(plan.finished());
    ASSERT_TRUE(plan.add(timed(plan.next()), Micros{51'000}).ok());
    ASSERT_TRUE(plan.finished());
    EXPECT_EQ(plan.status(0), SolutionStatus::kBudget);
    EXPECT_EQ(plan.samples().size(), 8u) << "every sample is kept";
}

TEST(Plan, TheMeasuredBudgetCountsLaunchesAndWarmUp) {
    Policy policy;
    policy.measured_budget = Micros{59'999};
    MeasurePlan plan = timing_plan({"a"}, policy);
    std::vector<Row> rows = timed(plan.next());
    ASSERT_EQ(rows.size(), 3u);
    for (Row& row : rows) row.launches = 20;
    ASSERT_TRUE(plan.add(rows, Micros{1}).ok());
    EXPECT_TRUE(plan.finished());
}

TEST(Plan, RowsThatDoNotAnswerTheRequestAreRefused) {
    const auto refused = [](auto change) {
        MeasurePlan plan = timing_plan({"a", "b"});
        std::vector<Row> rows = timed(plan.next());
        change(rows);
        const Status status = plan.add(rows, Micros{1});
        EXPECT_FALSE(status.ok());
        return status.ok() ? ErrorKind::kInternal : status.error().kind;
    };
    EXPECT_EQ(refused([](std::vector<Row>& rows) { rows.pop_back(); }), ErrorKind::kCorruption);
    EXPECT_EQ(refused([](std::vector<Row>& rows) { rows.push_back(rows[0]); }), ErrorKind::kCorruption);
    EXPECT_EQ(refused([](std::vector<Row>& rows) { rows[1].solution = "z"; }), ErrorKind::kCorruption);
    EXPECT_EQ(refused([](std::vector<Row>& rows) { rows[1].us = 0; }), ErrorKind::kCorruption);
    EXPECT_EQ(refused([](std::vector<Row>& rows) { rows[1].us = NAN; }), ErrorKind::kCorruption);
    EXPECT_EQ(refused([](std::vector<Row>& rows) { rows[1].launches = 0; }), ErrorKind::kCorruption);
}

// ---- deaths of the driver ----

TEST(Plan, ADeathInValidationChargesTheOneInFlight) {
    MeasurePlan plan({"a", "b", "c"}, 1, {});
    const Request first = plan.next();
    std::vector<Row> rows = validated(first);
    rows.resize(1);
    ASSERT_TRUE(plan.interrupt(rows, Micros{1}, "signal 11").ok());
    const Request trial = plan.next();
    EXPECT_EQ(trial.phase, Phase::kValidate);
    EXPECT_EQ(trial.order, (Names{"b"}));
    EXPECT_TRUE(trial.fresh_process);
    ASSERT_TRUE(plan.interrupt({}, Micros{2}, "signal 11").ok());
    EXPECT_EQ(plan.status(1), SolutionStatus::kFailed);
    EXPECT_EQ(plan.message(1), "signal 11");
    const Request rest = plan.next();
    EXPECT_EQ(rest.order, (Names{"c"})) << "a is not validated twice";
    EXPECT_TRUE(rest.fresh_process);
    ASSERT_TRUE(plan.add(validated(rest), Micros{3}).ok());
    EXPECT_EQ(plan.next().phase, Phase::kTime);
    EXPECT_EQ(plan.status(2), SolutionStatus::kPending);
}

TEST(Plan, ASolutionThatEndsWellAloneIsNotFailed) {
    MeasurePlan plan = timing_plan({"a", "b"});
    const Request block = plan.next();
    std::vector<Row> rows = timed(block);
    rows.resize(3);
    ASSERT_TRUE(plan.interrupt(rows, Micros{1}, "killed").ok());
    const Request trial = plan.next();
    EXPECT_EQ(trial.order, (Names{block.order[3]}));
    ASSERT_TRUE(plan.add(timed(trial), Micros{2}).ok());
    EXPECT_EQ(plan.samples().size(), 1u) << "the sample before the death is kept, the trial is warm-up";
    const Request next = plan.next();
    EXPECT_EQ(next.order.size(), 6u) << "a whole new block";
    EXPECT_TRUE(next.fresh_process);
    ASSERT_TRUE(plan.add(timed(next), Micros{3}).ok());
    EXPECT_EQ(plan.samples().back().block, 1);
    EXPECT_EQ(plan.status(0), SolutionStatus::kPending);
    EXPECT_EQ(plan.status(1), SolutionStatus::kPending);
}

TEST(Plan, ASolutionThatKillsItsDriverInTimingFailsAndTheOthersGoOn) {
    const std::map<std::string, double> times{{"a", 1000}, {"b", 1300}, {"c", 900}};
    SimulatedMachine machine(times, 1);
    MeasurePlan plan(names_of(times), 1, {});
    int deaths = 0;
    while (!plan.finished()) {
        const Request request = plan.next();
        std::vector<Row> rows = machine.answer(request);
        const auto killer = std::find(request.order.begin(), request.order.end(), "c");
        if (request.phase == Phase::kValidate || killer == request.order.end()) {
            ASSERT_TRUE(plan.add(rows, machine.elapsed()).ok());
            continue;
        }
        ++deaths;
        rows.resize(static_cast<std::size_t>(killer - request.order.begin()));
        ASSERT_TRUE(plan.interrupt(rows, machine.elapsed(), "page fault").ok());
    }
    EXPECT_EQ(deaths, 2) << "tried once more, alone";
    EXPECT_EQ(plan.status(2), SolutionStatus::kFailed);
    EXPECT_EQ(plan.message(2), "page fault");
    EXPECT_EQ(decide(plan, names_of(times)).results[0].standing, Standing::kWinner);
}

TEST(Plan, ASolutionThatKeepsDyingInCompanyIsFailedAtItsThirdDeath) {
    MeasurePlan plan = timing_plan({"a", "b"});
    for (int death = 1; death <= 3; ++death) {
        const Request block = plan.next();
        std::vector<Row> rows = timed(block);
        const auto at = std::find(block.order.begin(), block.order.end(), "b");
        rows.resize(static_cast<std::size_t>(at - block.order.begin()));
        ASSERT_TRUE(plan.interrupt(rows, Micros{death}, "timeout").ok());
        if (death == 3) break;
        const Request trial = plan.next();
        ASSERT_EQ(trial.order, (Names{"b"}));
        ASSERT_TRUE(plan.add(timed(trial), Micros{death}).ok());
    }
    EXPECT_EQ(plan.status(1), SolutionStatus::kFailed);
    const Request next = plan.next();
    EXPECT_EQ(std::count(next.order.begin(), next.order.end(), "b"), 0);
}

TEST(Plan, ADeathAfterTheLastRowIsNobodysFault) {
    MeasurePlan plan = timing_plan({"a", "b"});
    const Request block = plan.next();
    ASSERT_TRUE(plan.interrupt(timed(block), Micros{1}, "died at exit").ok());
    const Request next = plan.next();
    EXPECT_GT(next.order.size(), 1u);
    EXPECT_TRUE(next.fresh_process);
}

TEST(Plan, ADriverThatDiesWhateverItIsAskedEndsTheMeasurement) {
    MeasurePlan plan({"a", "b", "c", "d", "e"}, 1, {});
    Status status;
    int asked = 0;
    while (status.ok() && ++asked < 100) {
        (void)plan.next();
        status = plan.interrupt({}, Micros{1}, "cannot open the device");
    }
    EXPECT_EQ(asked, 6) << "three solutions, each once in company and once alone";
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kUnavailable);
    EXPECT_EQ(plan.status(4), SolutionStatus::kPending) << "not condemned for what the host does";
}

TEST(Plan, TheOnlyAndDyingSolutionEndsThePlan) {
    MeasurePlan plan = timing_plan({"a"});
    (void)plan.next();
    ASSERT_TRUE(plan.interrupt({}, Micros{1}, "hang").ok());
    (void)plan.next();
    ASSERT_TRUE(plan.interrupt({}, Micros{2}, "hang").ok());
    EXPECT_TRUE(plan.finished());
    EXPECT_EQ(plan.status(0), SolutionStatus::kFailed);
}

}  // namespace
}  // namespace tunefarm::worker
