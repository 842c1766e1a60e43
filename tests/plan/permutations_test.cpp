// SPDX-License-Identifier: MIT
#include "coordinator/plan/permutations.h"

#include <limits>

#include "coordinator/plan/normalised.h"
#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

std::string text(const Permutations::Assignment& assignment) {
    std::string out;
    for (const auto& [name, value] : assignment) out += (out.empty() ? "" : " ") + name + "=" + to_json(*value);
    return out;
}

TEST(Permutations, FirstParameterIsFastestAndGroupsComeLast) {
    const Config config = must_load("two_types.yaml");
    const Permutations permutations(config.steps.at(0));
    ASSERT_EQ(permutations.count(), 2u * 2u * 3u * 2u);
    EXPECT_EQ(text(permutations.at(0)), "DepthU=4 VectorWidth=4 MacroTile0=32 WorkGroup=[8,8]");
    EXPECT_EQ(text(permutations.at(1)), "DepthU=8 VectorWidth=4 MacroTile0=32 WorkGroup=[8,8]");
    EXPECT_EQ(text(permutations.at(4)), "DepthU=4 VectorWidth=4 MacroTile0=64 WorkGroup=[8,8]");
    EXPECT_EQ(text(permutations.at(12 + 2)), "DepthU=4 VectorWidth=2 MacroTile0=32 WorkGroup=[16,16]");
    EXPECT_EQ(text(permutations.at(23)), "DepthU=8 VectorWidth=2 MacroTile0=128 WorkGroup=[16,16]");
}

TEST(Permutations, ProductOfNothingIsOne) {
    EXPECT_EQ(*product({}), 1u);
}

TEST(Permutations, ProductBeyond63BitsNamesItsFactors) {
    EXPECT_EQ(*product({std::uint64_t{1} << 62, 1}), std::uint64_t{1} << 62);
    const auto result = product({std::uint64_t{1} << 32, 1, std::uint64_t{1} << 31});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().message, "4294967296 x 2147483648 fork permutations are more than 2^63");
}

TEST(Permutations, HugeSpacesAreDecodedNotListed) {
    std::string groups;
    for (int i = 0; i < 15; ++i) {
        groups += "{P" + std::to_string(i) + ": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}, ";
    }
    const auto config = one_step("{ForkParameters: [" + groups + "]}");
    ASSERT_TRUE(config.ok()) << config.error().message;
    const Permutations permutations(config->steps[0]);
    EXPECT_EQ(permutations.count(), 1'000'000'000'000'000u);
    EXPECT_EQ(text(permutations.at(987'654'321'012'345u)),
              "P0=5 P1=4 P2=3 P3=2 P4=1 P5=0 P6=1 P7=2 P8=3 P9=4 P10=5 P11=6 P12=7 P13=8 P14=9");
}

}  // namespace
}  // namespace tunefarm::plan
