// SPDX-License-Identifier: MIT
#include "base/rate_limit.h"

#include <gtest/gtest.h>

namespace tunefarm {
namespace {

using std::chrono::seconds;

TEST(RateLimitTest, ABurstPassesAndTheNextWindowSaysHowManyWereLeftOut) {
    RateLimit limit(2, seconds(60));
    const RateLimit::Clock::time_point start{seconds(1000)};
    EXPECT_EQ(limit.pass(start), 0U);
    EXPECT_EQ(limit.pass(start + seconds(1)), 0U);
    for (int i = 0; i < 37; ++i) EXPECT_EQ(limit.pass(start + seconds(2)), std::nullopt);
    EXPECT_EQ(limit.pass(start + seconds(59)), std::nullopt);
    EXPECT_EQ(limit.pass(start + seconds(60)), 38U);
    EXPECT_EQ(limit.pass(start + seconds(61)), 0U);
    EXPECT_EQ(limit.pass(start + seconds(62)), std::nullopt);
}

TEST(RateLimitTest, TheTextIsEmptyWhenNothingWasLeftOut) {
    EXPECT_EQ(left_out_text(0), "");
    EXPECT_EQ(left_out_text(3), " (3 more like it were not logged)");
}

}  // namespace
}  // namespace tunefarm
