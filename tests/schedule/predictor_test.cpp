// SPDX-License-Identifier: MIT
#include "coordinator/schedule/predictor.h"

#include <gtest/gtest.h>

namespace tunefarm::schedule {
namespace {

constexpr ClassId kA{1};
constexpr ClassId kB{2};

TEST(PredictorTest, UnknownWorkHasAKindsDefaultAndSaysSo) {
    const Predictor predictor;
    const Prediction prediction = predictor.predict(kA, TaskKind::kBuild, 1.0);
    EXPECT_FALSE(prediction.known);
    EXPECT_GT(prediction.median.count(), 0);
}

TEST(PredictorTest, LearnsTheMedianOfAClassAndScalesByCost) {
    Predictor predictor;
    for (int i = 0; i < 50; ++i) predictor.observe(kA, TaskKind::kBuild, 1.0, Micros(200'000), Bytes{1 << 20});
    EXPECT_NEAR(static_cast<double>(predictor.predict(kA, TaskKind::kBuild, 1.0).median.count()), 200'000, 2'000);
    EXPECT_NEAR(static_cast<double>(predictor.predict(kA, TaskKind::kBuild, 3.0).median.count()), 600'000, 6'000);
}

TEST(PredictorTest, ANewClassStartsFromItsKind) {
    Predictor predictor;
    for (int i = 0; i < 20; ++i) predictor.observe(kA, TaskKind::kBuild, 1.0, Micros(5'000'000), Bytes{1 << 20});
    const Prediction prediction = predictor.predict(kB, TaskKind::kBuild, 1.0);
    EXPECT_TRUE(prediction.known);
    EXPECT_NEAR(static_cast<double>(prediction.median.count()), 5'000'000, 50'000);
}

TEST(PredictorTest, SpreadGrowsWithScatterAndLimitsStayAboveIt) {
    Predictor steady;
    Predictor scattered;
    for (int i = 0; i < 100; ++i) {
        steady.observe(kA, TaskKind::kBuild, 1.0, Micros(100'000), Bytes{1});
        scattered.observe(kA, TaskKind::kBuild, 1.0, Micros(i % 2 == 0 ? 20'000 : 500'000), Bytes{1});
    }
    const Prediction a = steady.predict(kA, TaskKind::kBuild, 1.0);
    const Prediction b = scattered.predict(kA, TaskKind::kBuild, 1.0);
    EXPECT_LT(a.spread, b.spread);
    EXPECT_GT(b.limit(Micros(0)).count(), 500'000);
    EXPECT_EQ(a.limit(Micros(60'000'000)).count(), 60'000'000) << "the floor holds";
}

TEST(PredictorTest, MemoryPredictionIsNotBelowWhatWasSeen) {
    Predictor predictor;
    for (const std::int64_t mib : {100, 400, 90, 80}) {
        predictor.observe(kA, TaskKind::kBuild, 1.0, Micros(1000), Bytes{mib << 20});
    }
    EXPECT_GE(predictor.predict(kA, TaskKind::kBuild, 1.0).memory.count, 350LL << 20);
}

}  // namespace
}  // namespace tunefarm::schedule
