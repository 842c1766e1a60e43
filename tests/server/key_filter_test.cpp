// SPDX-License-Identifier: MIT
#include "coordinator/server/key_filter.h"

#include <gtest/gtest.h>

#include <string>

namespace tunefarm::server {
namespace {

TEST(KeyFilterTest, KnowsEveryKeyThatWasAddedAndHardlyAnyOther) {
    constexpr int kKeys = 20'000;
    KeyFilter filter;
    EXPECT_FALSE(filter.may_hold(sha256("0")));
    for (int i = 0; i < kKeys; ++i) filter.add(sha256(std::to_string(i)));
    int others = 0;
    for (int i = 0; i < kKeys; ++i) {
        ASSERT_TRUE(filter.may_hold(sha256(std::to_string(i))));
        others += filter.may_hold(sha256("other " + std::to_string(i))) ? 1 : 0;
    }
    EXPECT_LT(others, 5);
}

}  // namespace
}  // namespace tunefarm::server
