// SPDX-License-Identifier: MIT
#include "coordinator/plan/units.h"

#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Units, OfAConfigHaveNoNames) {
    const std::vector<Unit> units = units_of(must_load("two_types.yaml"));
    ASSERT_EQ(units.size(), 3u);
    EXPECT_EQ(units[0].fork_permutations, 24u);
    EXPECT_EQ(units[0].size_entries, 3u);
    EXPECT_EQ(units[0].problem_sizes.size(), 3u);
    EXPECT_EQ(units[0].group_name, std::nullopt);
    EXPECT_EQ(units[0].cache_key, std::nullopt);
}

TEST(Units, SurviveTheWayThroughJson) {
    std::vector<Unit> units = units_of(must_load("two_types.yaml"));
    units[0].group_name = "Cijk_\"00";
    units[0].cache_key = "0123456789ab";
    units[1].cache_directory = "x/y";
    units[2].custom_kernels = {"a", "b"};
    const auto back = parse_units(units_json(units));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, units);
}

TEST(Units, NullAndAbsentNamesAreTheSame) {
    const auto units = parse_units(
        R"({"units":[{"index":0,"entry":0,"group":0,"problem":"p","group_name":null,"fork_permutations":1,"size_entries":1,)"
        R"("problem_sizes":[],"custom_kernels":[],"result_driven":false}]})");
    ASSERT_TRUE(units.ok()) << units.error().message;
    EXPECT_EQ((*units)[0].group_name, std::nullopt);
    EXPECT_EQ((*units)[0].cache_key, std::nullopt);
}

TEST(Units, BrokenResultsOfADriverAreCorruption) {
    const std::string good = units_json(units_of(must_load("two_types.yaml")));
    ASSERT_TRUE(parse_units(good).ok());
    const std::vector<std::string> broken = {
        "",
        "[]",
        "{}",
        R"({"units":{}})",
        R"({"units":[1]})",
        good.substr(0, good.size() - 1),
        replaced(good, "\"index\":1", "\"index\":7"),
        replaced(good, "\"index\":1", "\"index\":-1"),
        replaced(good, "\"entry\":0", "\"entry\":\"0\""),
        replaced(good, "\"fork_permutations\":24", "\"fork_permutations\":1e3"),
        replaced(good, "\"fork_permutations\":24", "\"fork_permutations\":18446744073709551615"),
        replaced(good, "\"problem\":", "\"problen\":"),
        replaced(good, "\"problem\":", "\"group_name\":\"a\\nb\",\"problem\":"),
        replaced(good, "\"problem\":", "\"cache_key\":5,\"problem\":"),
        replaced(good, "[[128,128", "[[1.5,128"),
        replaced(good, "\"custom_kernels\":[]", "\"custom_kernels\":[1]"),
        replaced(good, "\"result_driven\":false", "\"result_driven\":0"),
    };
    for (const std::string& text : broken) {
        const auto units = parse_units(text);
        ASSERT_FALSE(units.ok()) << text;
        EXPECT_EQ(units.error().kind, ErrorKind::kCorruption);
    }
}

}  // namespace
}  // namespace tunefarm::plan
