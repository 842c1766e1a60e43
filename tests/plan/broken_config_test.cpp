// SPDX-License-Identifier: MIT
// Every file in data/broken says in its first line what is expected: "# EXPECT <line>:<column> <words of the message>".
#include <algorithm>
#include <filesystem>

#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

std::vector<std::string> broken_files() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(data_path("broken")))
        names.push_back(entry.path().stem().string());
    std::sort(names.begin(), names.end());
    return names;
}

class BrokenConfig : public testing::TestWithParam<std::string> {};

TEST_P(BrokenConfig, IsRefusedWithPlaceAndReason) {
    const std::string name = "broken/" + GetParam() + ".yaml";
    const std::string bytes = read_data(name);
    const std::string first = bytes.substr(0, bytes.find('\n'));
    ASSERT_EQ(first.substr(0, 9), "# EXPECT ") << first;
    const std::size_t space = first.find(' ', 9);
    const std::string place = data_path(name) + ":" + first.substr(9, space - 9) + ": ";
    const auto config = load_config(data_path(name));
    ASSERT_FALSE(config.ok());
    EXPECT_EQ(config.error().kind, ErrorKind::kInput);
    EXPECT_EQ(config.error().message.substr(0, place.size()), place) << config.error().message;
    EXPECT_NE(config.error().message.find(first.substr(space + 1)), std::string::npos) << config.error().message;
}

INSTANTIATE_TEST_SUITE_P(Files, BrokenConfig, testing::ValuesIn(broken_files()),
                         [](const auto& file) { return file.param; });

}  // namespace
}  // namespace tunefarm::plan
