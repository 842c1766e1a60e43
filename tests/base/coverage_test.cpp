// SPDX-License-Identifier: MIT
// Do the intervals cover the truth as often as they say, also where the textbook's assumptions fail? Fixed seeds.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/statistics.h"

namespace tunefarm {
namespace {

constexpr int kTrials = 10'000;
/// At nominal 95 %: 94 % less three standard errors of the estimate is not needed, the fixed seeds make it exact.
constexpr double kLeast = 0.94;

using Draw = std::function<double(std::mt19937_64&)>;

double normal(std::mt19937_64& random) {
    return std::normal_distribution<double>()(random);
}

struct Noise {
    const char* name;
    Draw draw;
    double median;
};

std::vector<Noise> noises() {
    return {{"normal", [](std::mt19937_64& r) { return 100 + 3 * normal(r); }, 100},
            {"log-normal", [](std::mt19937_64& r) { return 100 * std::exp(0.3 * normal(r)); }, 100},
            {"Cauchy", [](std::mt19937_64& r) { return 100 + std::cauchy_distribution<double>()(r); }, 100},
            {"spikes",
             [](std::mt19937_64& r) {
                 // A floor with exponential interference: what timings on a shared machine look like.
                 return 100 + std::exponential_distribution<double>(0.5)(r);
             },
             100 + std::log(2.0) / 0.5}};
}

TEST(Coverage, MedianIntervalCoversWhateverTheDistribution) {
    for (const Noise& noise : noises()) {
        for (int n : {6, 9, 12, 20, 30}) {
            std::mt19937_64 random(static_cast<std::uint64_t>(n));
            int covered = 0;
            for (int trial = 0; trial < kTrials; ++trial) {
                std::vector<double> values;
                for (int i = 0; i < n; ++i) values.push_back(noise.draw(random));
                const auto interval = median_interval(std::move(values), 0.95);
                ASSERT_TRUE(interval);
                covered += interval->low <= noise.median && noise.median <= interval->high ? 1 : 0;
            }
            EXPECT_GE(covered, kLeast * kTrials) << noise.name << ", n = " << n;
        }
    }
}

/// Two solutions, `blocks` blocks of `passes` interleaved passes in random order, with common weather per sample time.
struct Series {
    std::vector<BlockedValue> a;
    std::vector<BlockedValue> b;
};
Series interleave(int blocks, int passes, double truth, std::mt19937_64& random, const Draw& own,
                  const std::function<double()>& weather) {
    Series series;
    for (int block = 0; block < blocks; ++block) {
        for (int pass = 0; pass < passes; ++pass) {
            const bool a_first = random() % 2 == 0;
            for (int turn = 0; turn < 2; ++turn) {
                const double value = own(random) * weather();
                if ((turn == 0) == a_first) {
                    series.a.push_back({block, value * truth});
                } else {
                    series.b.push_back({block, value});
                }
            }
        }
    }
    return series;
}

double paired_coverage(int blocks, int passes, const Draw& own,
                       const std::function<std::function<double()>(std::mt19937_64&)>& make_weather) {
    constexpr double kTruth = 1.02;
    std::mt19937_64 random(7);
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        const Series series = interleave(blocks, passes, kTruth, random, own, make_weather(random));
        const auto pair = compare_paired(series.a, series.b, 0.95);
        covered += pair.interval && pair.interval->low <= kTruth && kTruth <= pair.interval->high ? 1 : 0;
    }
    return static_cast<double>(covered) / kTrials;
}

std::function<double()> calm(std::mt19937_64&) {
    return [] { return 1.0; };
}

/// AR(1) drift in log space, in its stationary state: correlation 0.98 between neighbouring samples, 20 % spread.
std::function<double()> drifting(std::mt19937_64& random) {
    constexpr double kPhi = 0.98;
    constexpr double kSpread = 0.2;
    double state = kSpread * normal(random);
    return [state, &random]() mutable {
        state = kPhi * state + kSpread * std::sqrt(1 - kPhi * kPhi) * normal(random);
        return std::exp(state);
    };
}

TEST(Coverage, PairedIntervalHoldsForIndependentNoise) {
    const Draw own = [](std::mt19937_64& r) { return 100 * std::exp(0.02 * normal(r)); };
    EXPECT_GE(paired_coverage(9, 3, own, calm), kLeast);
    EXPECT_GE(paired_coverage(12, 1, own, calm), kLeast);
    EXPECT_GE(paired_coverage(30, 2, own, calm), kLeast);
}

TEST(Coverage, PairedIntervalHoldsForHeavyTails) {
    const Draw own = [](std::mt19937_64& r) { return 100 * std::exp(0.01 * std::cauchy_distribution<double>()(r)); };
    EXPECT_GE(paired_coverage(12, 3, own, calm), kLeast);
    EXPECT_GE(paired_coverage(20, 2, own, calm), kLeast);
}

TEST(Coverage, PairedIntervalHoldsUnderAutocorrelatedDrift) {
    const Draw own = [](std::mt19937_64& r) { return 100 * std::exp(0.01 * normal(r)); };
    EXPECT_GE(paired_coverage(9, 3, own, drifting), kLeast);
    EXPECT_GE(paired_coverage(12, 2, own, drifting), kLeast);
    EXPECT_GE(paired_coverage(30, 4, own, drifting), kLeast);
}

// The reason for pairing in blocks: samples taken as if they were independent fail badly under the same drift.
TEST(Coverage, PlainIntervalsFailUnderTheSameDrift) {
    std::mt19937_64 random(11);
    int covered = 0;
    for (int trial = 0; trial < 2000; ++trial) {
        const auto weather = drifting(random);
        std::vector<double> values;
        for (int i = 0; i < 60; ++i) values.push_back(100 * weather());
        const auto interval = median_interval(std::move(values), 0.95);
        covered += interval->low <= 100 && 100 <= interval->high ? 1 : 0;
    }
    EXPECT_LT(covered, 1200);
}

// A solution's own interval is over processes: each has a level of its own that no number of samples within it removes.
TEST(Coverage, IntervalOverBlocksCoversTheSpreadBetweenProcesses) {
    std::mt19937_64 random(13);
    int covered = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::vector<BlockedValue> samples;
        for (int block = 0; block < 12; ++block) {
            const double level = 100 * std::exp(0.25 * normal(random));
            for (int i = 0; i < 8; ++i) samples.push_back({block, level * (1 + 0.005 * normal(random))});
        }
        std::vector<double> medians;
        for (const BlockedValue& m : block_medians(samples)) medians.push_back(m.value);
        const auto interval = median_interval(std::move(medians), 0.95);
        covered += interval->low <= 100 && 100 <= interval->high ? 1 : 0;
    }
    EXPECT_GE(covered, kLeast * kTrials);
}

}  // namespace
}  // namespace tunefarm
