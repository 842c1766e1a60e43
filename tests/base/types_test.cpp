// SPDX-License-Identifier: MIT
#include "base/types.h"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>

namespace tunefarm {
namespace {

TEST(Types, IdsOfDifferentKindsDoNotMix) {
    static_assert(!std::is_convertible_v<StepId, TaskId>);
    static_assert(!std::is_convertible_v<int, StepId>);
    EXPECT_FALSE(StepId{}.valid());
    EXPECT_TRUE(StepId{3}.valid());
    EXPECT_LT(StepId{3}, StepId{4});
}

TEST(Types, TaskKindNamesRoundTrip) {
    std::set<std::string> names;
    for (int i = 0; i < kTaskKinds; ++i) {
        const auto kind = static_cast<TaskKind>(i);
        names.insert(to_string(kind));
        EXPECT_EQ(parse_task_kind(to_string(kind)), kind);
    }
    EXPECT_EQ(names.size(), static_cast<std::size_t>(kTaskKinds));
    EXPECT_EQ(parse_task_kind("tune"), std::nullopt);
    EXPECT_EQ(parse_task_kind(""), std::nullopt);
}

TEST(Types, StoredNumbersNeverChange) {
    EXPECT_EQ(static_cast<int>(TaskKind::kMeasure), 5);
    EXPECT_EQ(static_cast<int>(Outcome::kLost), 7);
    EXPECT_EQ(static_cast<int>(StepEnd::kBuilt), 3);
}

TEST(Types, InstantsSubtractToDurations) {
    const Instant start{Micros{10}};
    EXPECT_EQ((start + Micros{5}) - start, Micros{5});
    EXPECT_EQ(start - Micros{3}, Instant{Micros{7}});
}

}  // namespace
}  // namespace tunefarm
