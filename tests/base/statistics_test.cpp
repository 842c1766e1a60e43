// SPDX-License-Identifier: MIT
#include "base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tunefarm {
namespace {

std::vector<BlockedValue> blocked(const std::vector<double>& values) {
    std::vector<BlockedValue> result;
    for (double v : values) result.push_back({static_cast<std::int32_t>(result.size()), v});
    return result;
}

TEST(Statistics, MedianOfKnownSequences) {
    EXPECT_EQ(median({3}), 3);
    EXPECT_EQ(median({9, 1, 5}), 5);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_DEATH((void)median({}), "");
}

TEST(Statistics, MedianAbsoluteDeviationIgnoresAnOutlier) {
    EXPECT_EQ(median_absolute_deviation({1, 1, 2, 2, 4, 6, 9}), 1);
    EXPECT_EQ(median_absolute_deviation({1, 1, 2, 2, 4, 6, 9e9}), 1);
    EXPECT_EQ(median_absolute_deviation({7, 7, 7}), 0);
}

// The values of R's quantile(c(1,2,4,8,16), type = 7).
TEST(Statistics, QuantilesInterpolateBetweenOrderStatistics) {
    const std::vector<double> values{16, 1, 8, 2, 4};
    EXPECT_EQ(quantile(values, 0), 1);
    EXPECT_DOUBLE_EQ(quantile(values, 0.1), 1.4);
    EXPECT_DOUBLE_EQ(quantile(values, 0.25), 2);
    EXPECT_DOUBLE_EQ(quantile(values, 0.9), 12.8);
    EXPECT_EQ(quantile(values, 1), 16);
}

TEST(Statistics, BinomialTailsMatchTheTable) {
    EXPECT_EQ(binomial_half_cdf(-1, 5), 0);
    EXPECT_EQ(binomial_half_cdf(5, 5), 1);
    EXPECT_DOUBLE_EQ(binomial_half_cdf(0, 5), 1.0 / 32);
    EXPECT_NEAR(binomial_half_cdf(2, 12), 79.0 / 4096, 1e-15);
    EXPECT_NEAR(binomial_half_cdf(3, 6), 42.0 / 64, 1e-15);
    EXPECT_NEAR(binomial_half_cdf(4900, 10'000), 0.023292763852473693, 1e-12);
    EXPECT_NEAR(binomial_half_cdf(500'000, 1'000'000), 0.5003989421803937, 1e-9);
}

// Order statistics from the table of Conover, "Practical Nonparametric Statistics", for the median.
TEST(Statistics, MedianIntervalTakesTheTabulatedOrderStatistics) {
    const auto ranks = [](std::size_t n, double confidence) {
        std::vector<double> values;
        for (std::size_t i = n; i > 0; --i) values.push_back(static_cast<double>(i));
        return median_interval(values, confidence);
    };
    EXPECT_EQ(ranks(5, 0.95), std::nullopt);
    EXPECT_EQ(ranks(6, 0.95), (Interval{1, 6}));
    EXPECT_EQ(ranks(8, 0.95), (Interval{1, 8}));
    EXPECT_EQ(ranks(9, 0.95), (Interval{2, 8}));
    EXPECT_EQ(ranks(12, 0.95), (Interval{3, 10}));
    EXPECT_EQ(ranks(20, 0.95), (Interval{6, 15}));
    EXPECT_EQ(ranks(100, 0.95), (Interval{40, 61}));
    EXPECT_EQ(ranks(7, 0.99), std::nullopt);
    EXPECT_EQ(ranks(8, 0.99), (Interval{1, 8}));
    EXPECT_EQ(ranks(0, 0.95), std::nullopt);
    EXPECT_EQ(ranks(1, 0.95), std::nullopt);
}

TEST(Statistics, ValuesNeededIsWhereTheIntervalBegins) {
    EXPECT_EQ(values_needed(0.95), 6);
    EXPECT_EQ(values_needed(0.99), 8);
    EXPECT_EQ(values_needed(0.5), 2);
}

TEST(Statistics, BlockMediansCollapseEachBlock) {
    const auto medians = block_medians({{2, 5}, {0, 1}, {0, 3}, {0, 100}, {2, 7}});
    ASSERT_EQ(medians.size(), 2u);
    EXPECT_EQ(medians[0].block, 0);
    EXPECT_EQ(medians[0].value, 3);
    EXPECT_EQ(medians[1].block, 2);
    EXPECT_EQ(medians[1].value, 6);
}

TEST(Statistics, OnlySharedBlocksArePaired) {
    const std::vector<double> ratios = block_ratios({{0, 2}, {1, 9}, {3, 6}}, {{0, 1}, {2, 9}, {3, 2}});
    EXPECT_EQ(ratios, (std::vector<double>{2, 3}));
    EXPECT_FALSE(compare_paired({{0, 2}}, {{1, 2}}, 0.95).ratio);
}

TEST(Statistics, PairingCancelsWhatHitsABlock) {
    // The blocks differ by 3x, the solutions by 2 %: far outside the plain intervals, yet plain in the pairs.
    std::vector<double> a;
    std::vector<double> b;
    for (int i = 0; i < 9; ++i) {
        const double weather = 1 + (i % 3);
        a.push_back(102 * weather);
        b.push_back(100 * weather);
    }
    const PairedComparison pair = compare_paired(blocked(a), blocked(b), 0.95);
    EXPECT_EQ(pair.blocks, 9);
    EXPECT_DOUBLE_EQ(*pair.ratio, 1.02);
    ASSERT_TRUE(pair.interval);
    EXPECT_GT(pair.interval->low, 1.01);
    EXPECT_DOUBLE_EQ(pair.p, 2.0 / 512);
}

TEST(Statistics, PValueAndIntervalAgreeAtEveryCount) {
    for (int blocks = 1; blocks <= 24; ++blocks) {
        for (int slower = 0; slower <= blocks; ++slower) {
            std::vector<double> a;
            for (int i = 0; i < blocks; ++i) a.push_back(i < slower ? 1.5 + 0.01 * i : 0.5 + 0.01 * i);
            const auto pair = compare_paired(blocked(a), blocked(std::vector<double>(a.size(), 1.0)), 0.95);
            const bool excludes = pair.interval && (pair.interval->low > 1 || pair.interval->high < 1);
            EXPECT_EQ(excludes, pair.p <= 0.05) << slower << " of " << blocks;
        }
    }
}

TEST(Statistics, EqualSeriesAreNeverDifferent) {
    const std::vector<double> same(40, 5.0);
    const PairedComparison pair = compare_paired(blocked(same), blocked(same), 0.95);
    EXPECT_EQ(pair.p, 1);
    EXPECT_EQ(*pair.interval, (Interval{1, 1}));
}

TEST(Statistics, HolmStopsAtTheFirstThatFails) {
    // alpha/4, alpha/3, …: 0.0125, 0.0167, 0.025, 0.05.
    EXPECT_EQ(holm_rejections({0.01, 0.04, 0.03, 0.005}, 0.05), (std::vector<bool>{true, false, false, true}));
    EXPECT_EQ(holm_rejections({0.012, 0.016, 0.024, 0.05}, 0.05), (std::vector<bool>{true, true, true, true}));
    EXPECT_EQ(holm_rejections({0.04, 0.04}, 0.05), (std::vector<bool>{false, false}));
    EXPECT_TRUE(holm_rejections({}, 0.05).empty());
}

}  // namespace
}  // namespace tunefarm
