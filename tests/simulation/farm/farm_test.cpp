// SPDX-License-Identifier: MIT
// One failing seed is played again with TUNEFARM_SEED=n; TUNEFARM_SEEDS=n plays so many from 1 on.
#include "tests/simulation/farm/farm.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/log.h"

namespace tunefarm::simulation {
namespace {

std::uint64_t number(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class FarmTest : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { log::start("simulation", log::Level::kError); }
};

TEST_F(FarmTest, EveryTaskEndsOnceAndNothingAcknowledgedIsLost) {
    const std::uint64_t one = number("TUNEFARM_SEED", 0);
    const std::uint64_t first = one > 0 ? one : 1;
    const std::uint64_t last = one > 0 ? one : number("TUNEFARM_SEEDS", 1000);
    FarmOutcome sum;
    int broken = 0;
    for (std::uint64_t seed = first; seed <= last && broken < 5; ++seed) {
        const FarmOutcome outcome = simulate_farm(seed);
        EXPECT_EQ(outcome.broken, "") << "seed " << seed;
        broken += outcome.broken.empty() ? 0 : 1;
        sum.events += outcome.events;
        sum.coordinator_crashes += outcome.coordinator_crashes;
        sum.worker_crashes += outcome.worker_crashes;
        sum.resets += outcome.resets;
        sum.ended_s += outcome.ended_s;
    }
    std::printf("%llu seeds: %llu events, %d coordinator crashes, %d worker crashes, %d resets, %.0f simulated hours\n",
                static_cast<unsigned long long>(last - first + 1), static_cast<unsigned long long>(sum.events),
                sum.coordinator_crashes, sum.worker_crashes, sum.resets, sum.ended_s / 3600);
}

TEST_F(FarmTest, OneSeedGivesOneHistory) {
    for (const std::uint64_t seed : {3U, 4U, 5U}) EXPECT_EQ(simulate_farm(seed).hash, simulate_farm(seed).hash);
    EXPECT_NE(simulate_farm(3).hash, simulate_farm(4).hash);
}

class PlantedBug : public FarmTest, public ::testing::WithParamInterface<std::pair<const char*, Bug>> {};

TEST_P(PlantedBug, IsFoundWithinTwoHundredSeeds) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const FarmOutcome outcome = simulate_farm(seed, GetParam().second);
        if (outcome.broken.empty()) continue;
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), outcome.broken.c_str());
        return;
    }
    FAIL() << "no invariant noticed it";
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedBug,
                         ::testing::Values(std::pair("AckBeforeCommit", Bug::kAckBeforeCommit),
                                           std::pair("CommitBeforeArtifactSync", Bug::kCommitBeforeArtifactSync),
                                           std::pair("NoFence", Bug::kNoFence)),
                         [](const auto& each) { return std::string(each.param.first); });

}  // namespace
}  // namespace tunefarm::simulation
