// SPDX-License-Identifier: MIT
// Distribution-free statistics of timing samples. Pure functions; all thread-safe. The formulas and their sources are
// in docs/measurement.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace tunefarm {

/// Precondition of the first three: at least one value (checked, aborts). Values must be finite.
double median(std::vector<double> values);
/// Median of the absolute deviations from the median, unscaled.
double median_absolute_deviation(const std::vector<double>& values);
/// `q` in [0, 1]; linear interpolation between order statistics (Hyndman & Fan 1996, type 7).
double quantile(std::vector<double> values, double q);

struct Interval {
    double low = 0;
    double high = 0;
    bool operator==(const Interval&) const = default;
};

/// P(X <= k) for X ~ Binomial(n, 1/2).
double binomial_half_cdf(std::int64_t k, std::int64_t n);

/// An interval that covers the median with at least `confidence`, whatever the (continuous) distribution of the
/// independent values: the k-th smallest and k-th largest, with the largest k for which 2·P(Bin(n,1/2) < k) is at most
/// 1 - confidence. nullopt when even the extremes do not reach that level (fewer than 6 values at 95 %).
std::optional<Interval> median_interval(std::vector<double> values, double confidence);

/// The smallest number of values for which median_interval answers.
std::int64_t values_needed(double confidence);

/// A value with the block that it was observed in. Values of one block are neighbours in time and share their process.
struct BlockedValue {
    std::int32_t block = 0;
    double value = 0;
};

/// One value per block, the median of the block's values, in order of the block numbers.
std::vector<BlockedValue> block_medians(const std::vector<BlockedValue>& values);

/// median(a) / median(b) of each block that holds values of both, in order of the block numbers. Values are positive.
std::vector<double> block_ratios(const std::vector<BlockedValue>& a, const std::vector<BlockedValue>& b);

/// The comparison of a with b over the blocks that hold values of both.
struct PairedComparison {
    std::int64_t blocks = 0;
    std::optional<double> ratio;       ///< median over blocks of median(a)/median(b); above 1: a is slower
    std::optional<Interval> interval;  ///< of that ratio; nullopt: too few blocks
    double p = 1;                      ///< two-sided sign test of "ratio = 1"; p <= 1 - confidence exactly when the
                                       ///< interval excludes 1
};
/// What hits all candidates of a block alike (frequency, neighbours, the process's memory layout) cancels in the ratio.
/// Values must be positive.
PairedComparison compare_paired(const std::vector<BlockedValue>& a, const std::vector<BlockedValue>& b,
                                double confidence);

/// Holm's step-down procedure: which of the hypotheses may be rejected with a family-wise error of at most `alpha`.
std::vector<bool> holm_rejections(const std::vector<double>& p_values, double alpha);

}  // namespace tunefarm
