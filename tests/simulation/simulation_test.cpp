// SPDX-License-Identifier: MIT
#include "tests/simulation/simulation.h"

#include <gtest/gtest.h>

namespace tunefarm::simulation {
namespace {

Farm farm(int cores) {
    return Farm{cores / 8, 8, 8};
}

double mean_ratio(int cores, Policy policy, int seeds, const Shape* other = nullptr) {
    double sum = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        Shape shape = campaign_shape(static_cast<std::uint64_t>(seed));
        if (other != nullptr) {
            shape.straggler_share = other->straggler_share;
            shape.prediction_sigma = other->prediction_sigma;
        }
        const Outcome outcome = simulate(shape, farm(cores), policy, static_cast<std::uint64_t>(seed));
        EXPECT_EQ(outcome.broken, "") << "seed " << seed;
        sum += outcome.makespan_s / outcome.bound_s;
    }
    return sum / seeds;
}

TEST(SimulationTest, OneSeedGivesOneHash) {
    const Shape shape = campaign_shape(5, 60);
    const Outcome first = simulate(shape, farm(24), Policy::kTunefarm, 5);
    const Outcome second = simulate(shape, farm(24), Policy::kTunefarm, 5);
    EXPECT_EQ(first.hash, second.hash);
    EXPECT_EQ(first.events, second.events);
    EXPECT_NE(first.hash, simulate(shape, farm(24), Policy::kTunefarm, 6).hash);
}

TEST(SimulationTest, StaysWithinFivePercentOfTheBound) {
    for (const int cores : {24, 48, 96}) EXPECT_LE(mean_ratio(cores, Policy::kTunefarm, 8), 1.05) << cores << " cores";
}

TEST(SimulationTest, BeatsTheOtherOrders) {
    const double ours = mean_ratio(48, Policy::kTunefarm, 4);
    EXPECT_LT(ours, mean_ratio(48, Policy::kFifo, 4));
    EXPECT_LT(ours * 1.2, mean_ratio(48, Policy::kLongestFirst, 4));
    EXPECT_LT(ours * 4, mean_ratio(48, Policy::kBarrier, 4));
}

TEST(SimulationTest, RoughPredictionsCostLittle) {
    Shape rough;
    rough.prediction_sigma = 0.5;
    EXPECT_LE(mean_ratio(48, Policy::kTunefarm, 4, &rough), 1.06);
}

TEST(SimulationTest, BackupCopiesBoundTheHarmOfStragglers) {
    Shape slow;
    slow.straggler_share = 0.01;
    EXPECT_LE(mean_ratio(48, Policy::kTunefarm, 6, &slow), 1.15);
}

TEST(SimulationTest, DyingHostsLoseNoTaskAndEndNoneTwice) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        const Outcome outcome =
            simulate(campaign_shape(seed, 40), farm(24), Policy::kTunefarm, seed, Faults{40.0, 5.0});
        EXPECT_EQ(outcome.broken, "") << "seed " << seed;
        EXPECT_GT(outcome.attempts, 0U);
    }
}

TEST(SimulationTest, EqualCampaignsGetEqualSharesAndEndTogether) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Shape shape = campaign_shape(seed, 100);
        // The same steps twice, dealt in turn: two campaigns of equal work.
        std::vector<StepShape> twice;
        for (const StepShape& step : shape.steps) twice.insert(twice.end(), {step, step});
        shape.steps = twice;
        shape.campaigns.resize(2);
        shape.prediction_sigma = 0.5;
        const Outcome outcome = simulate(shape, farm(24), Policy::kTunefarm, seed);
        ASSERT_EQ(outcome.broken, "") << "seed " << seed;
        const double share = outcome.contended_cpu_s[0] / (outcome.contended_cpu_s[0] + outcome.contended_cpu_s[1]);
        EXPECT_NEAR(share, 0.5, 0.05) << "seed " << seed;
        EXPECT_NEAR(outcome.ended_s[0] / outcome.ended_s[1], 1.0, 0.1) << "seed " << seed;
    }
}

TEST(SimulationTest, ACampaignOfHigherPriorityTakesTheFarmAsIfItWereAlone) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Shape alone = campaign_shape(seed, 40);
        const Outcome by_itself = simulate(alone, farm(24), Policy::kTunefarm, seed);
        Shape both = alone;
        both.steps.clear();
        for (const StepShape& step : alone.steps) both.steps.insert(both.steps.end(), {step, step});
        const double arrival = by_itself.makespan_s / 2;
        both.campaigns = {{0, 0}, {10, arrival}};
        const Outcome outcome = simulate(both, farm(24), Policy::kTunefarm, seed);
        ASSERT_EQ(outcome.broken, "") << "seed " << seed;
        EXPECT_LE((outcome.ended_s[1] - arrival) / by_itself.makespan_s, 1.25) << "seed " << seed;
        EXPECT_GT(outcome.ended_s[0], outcome.ended_s[1]) << "seed " << seed;
    }
}

}  // namespace
}  // namespace tunefarm::simulation
