// SPDX-License-Identifier: MIT
#include "coordinator/plan/problem_sizes.h"

#include <gtest/gtest.h>

namespace tunefarm::plan {
namespace {

Result<ProblemSizes> expand(const std::string& yaml, SizeShape shape = {4, 4, true},
                            std::uint64_t budget = kMaxSizesPerConfig) {
    auto tree = parse_yaml(yaml, "t.yaml");
    if (!tree) return tree.error();
    return expand_problem_sizes((*tree)->root(), shape, "t.yaml", budget);
}

std::vector<Size> sizes(const std::string& yaml) {
    const auto result = expand(yaml);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result ? result->sizes : std::vector<Size>{};
}

TEST(ProblemSizes, ExactTakesFourOrEightNumbersAndMaps) {
    EXPECT_EQ(
        sizes("[{Exact: [1, 2, 3, 4]}, {Exact: [1, 2, 3, 4, 5, 6, 7, -1]}, {Exact: {sizes: [9, 9, 1, 9], count: 2}}]"),
        (std::vector<Size>{{1, 2, 3, 4}, {1, 2, 3, 4, 5, 6, 7, -1}, {9, 9, 1, 9}}));
}

TEST(ProblemSizes, GroupedMapIsOneSize) {
    EXPECT_EQ(sizes("[{Exact: {sizes: [[1, 2, 1, 3], [4, 5, 1, 6]]}}]"), (std::vector<Size>{{1, 2, 1, 3, 4, 5, 1, 6}}));
}

TEST(ProblemSizes, FirstIndexOfARangeIsFastest) {
    EXPECT_EQ(sizes("[{Range: [[1, 1, 2], [10, 20], [1], 0]}]"),
              (std::vector<Size>{{1, 10, 1, 1}, {2, 10, 1, 2}, {1, 20, 1, 1}, {2, 20, 1, 2}}));
}

TEST(ProblemSizes, IncrementOfARangeGrows) {
    EXPECT_EQ(sizes("[{Range: [[64, 64, 64, 512], 0, [1], 0]}]"),
              (std::vector<Size>{{64, 64, 1, 64}, {128, 128, 1, 128}, {256, 256, 1, 256}, {448, 448, 1, 448}}));
}

TEST(ProblemSizes, MissingIndicesCopyTheFirst) {
    EXPECT_EQ(sizes("[{Range: [[7], [8]]}]"), (std::vector<Size>{{7, 8, 7, 7}}));
}

TEST(ProblemSizes, DuplicatesAreDroppedButTheirEntriesCount) {
    const auto result =
        expand("[{Exact: [64, 64, 1, 64]}, {Range: [[64, 64, 128], 0, [1], 0]}, {MinStride: [1, 1, 1, 1]}]");
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result->entries, 3u);
    EXPECT_EQ(result->sizes, (std::vector<Size>{{64, 64, 1, 64}, {128, 128, 1, 128}}));
}

TEST(ProblemSizes, BudgetIsSharedAndReduced) {
    auto tree = parse_yaml("[{Exact: [1, 1, 1, 1]}, {Exact: [2, 2, 2, 2]}]", "t.yaml");
    ASSERT_TRUE(tree.ok());
    std::uint64_t budget = 3;
    ASSERT_TRUE(expand_problem_sizes((*tree)->root(), {4, 4, true}, "t", budget).ok());
    EXPECT_EQ(budget, 1u);
    EXPECT_FALSE(expand_problem_sizes((*tree)->root(), {4, 4, true}, "t", budget).ok());
}

TEST(ProblemSizes, NearTheLargestIntegerARangeEnds) {
    EXPECT_EQ(sizes("[{Range: [[1, 9223372036854775806, 9223372036854775807], [1], [1], [1]]}]").size(), 2u);
}

TEST(ProblemSizes, DefaultIsOneEntryOfFourSizes) {
    EXPECT_EQ(default_problem_sizes(true).entries, 1u);
    EXPECT_EQ(default_problem_sizes(true).sizes.back(), (Size{448, 448, 1, 448}));
    EXPECT_EQ(default_problem_sizes(false).sizes.front(), (Size{64, 64, 64}));
}

}  // namespace
}  // namespace tunefarm::plan
