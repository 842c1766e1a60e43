// SPDX-License-Identifier: MIT
#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace tunefarm {

double quantile(std::vector<double> values, double q) {
    if (values.empty() || !(q >= 0 && q <= 1)) std::abort();
    const double place = q * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
    std::nth_element(values.begin(), at, values.end());
    const double low = *at;
    if (below + 1 == values.size()) return low;
    const double high = *std::min_element(at + 1, values.end());
    return low + (place - static_cast<double>(below)) * (high - low);
}

double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

double median_absolute_deviation(const std::vector<double>& values) {
    const double centre = median(values);
    std::vector<double> deviations;
    deviations.reserve(values.size());
    for (double v : values) deviations.push_back(std::abs(v - centre));
    return median(std::move(deviations));
}

double binomial_half_cdf(std::int64_t k, std::int64_t n) {
    if (k < 0) return 0;
    if (k >= n) return 1;
    if (2 * k >= n) return 1 - binomial_half_cdf(n - k - 1, n);
    // Terms relative to the largest one, C(n,k): no overflow for any n, and small tails keep their precision.
    const auto count = static_cast<double>(n);
    double sum = 1;
    double term = 1;
    for (std::int64_t i = k; i > 0; --i) {
        term *= static_cast<double>(i) / (count - static_cast<double>(i) + 1);
        sum += term;
        if (term < sum * 1e-17) break;
    }
    const auto last = static_cast<double>(k);
    const double log_largest = std::lgamma(count + 1) - std::lgamma(last + 1) - std::lgamma(count - last + 1);
    return std::min(1.0, sum * std::exp(log_largest - count * std::log(2.0)));
}

namespace {

/// Equal levels must compare equal whichever way they were computed: 2·P(…) against 1 - confidence.
constexpr double kSlack = 1e-12;

/// The k of median_interval; 0: there is no such interval.
std::int64_t order_statistic(std::int64_t n, double alpha) {
    std::int64_t k = 0;
    while (2 * (k + 1) <= n && 2 * binomial_half_cdf(k, n) <= alpha + kSlack) ++k;
    return k;
}

}  // namespace

std::optional<Interval> median_interval(std::vector<double> values, double confidence) {
    const std::int64_t k = order_statistic(static_cast<std::int64_t>(values.size()), 1 - confidence);
    if (k == 0) return std::nullopt;
    std::sort(values.begin(), values.end());
    return Interval{values[static_cast<std::size_t>(k - 1)], values[values.size() - static_cast<std::size_t>(k)]};
}

std::int64_t values_needed(double confidence) {
    std::int64_t n = 2;
    while (order_statistic(n, 1 - confidence) == 0) ++n;
    return n;
}

std::vector<BlockedValue> block_medians(const std::vector<BlockedValue>& values) {
    const auto by_block = [](const BlockedValue& x, const BlockedValue& y) { return x.block < y.block; };
    std::vector<BlockedValue> sorted = values;
    if (!std::is_sorted(sorted.begin(), sorted.end(), by_block)) {
        std::stable_sort(sorted.begin(), sorted.end(), by_block);
    }
    std::vector<BlockedValue> medians;
    std::vector<double> members;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        members.push_back(sorted[i].value);
        if (i + 1 < sorted.size() && sorted[i + 1].block == sorted[i].block) continue;
        medians.push_back({sorted[i].block, median(std::exchange(members, {}))});
    }
    return medians;
}

std::vector<double> block_ratios(const std::vector<BlockedValue>& a, const std::vector<BlockedValue>& b) {
    const std::vector<BlockedValue> of_a = block_medians(a);
    const std::vector<BlockedValue> of_b = block_medians(b);
    std::vector<double> ratios;
    auto at_b = of_b.begin();
    for (const BlockedValue& value : of_a) {
        while (at_b != of_b.end() && at_b->block < value.block) ++at_b;
        if (at_b != of_b.end() && at_b->block == value.block) ratios.push_back(value.value / at_b->value);
    }
    return ratios;
}

PairedComparison compare_paired(const std::vector<BlockedValue>& a, const std::vector<BlockedValue>& b,
                                double confidence) {
    std::vector<double> ratios = block_ratios(a, b);
    PairedComparison result;
    result.blocks = static_cast<std::int64_t>(ratios.size());
    if (ratios.empty()) return result;
    // A ratio of exactly 1 counts for both sides, as it does in the interval.
    const auto not_above = std::count_if(ratios.begin(), ratios.end(), [](double r) { return r <= 1; });
    const auto not_below = std::count_if(ratios.begin(), ratios.end(), [](double r) { return r >= 1; });
    result.p = std::min(1.0, 2 * binomial_half_cdf(std::min(not_above, not_below), result.blocks));
    result.ratio = median(ratios);
    result.interval = median_interval(std::move(ratios), confidence);
    return result;
}

std::vector<bool> holm_rejections(const std::vector<double>& p_values, double alpha) {
    std::vector<std::size_t> order(p_values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return p_values[x] < p_values[y]; });
    std::vector<bool> rejected(p_values.size(), false);
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (p_values[order[i]] > alpha / static_cast<double>(order.size() - i) + kSlack) break;
        rejected[order[i]] = true;
    }
    return rejected;
}

}  // namespace tunefarm
