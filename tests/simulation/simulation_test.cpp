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

}  // namespace
}  // namespace tunefarm::simulation
