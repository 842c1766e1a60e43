// SPDX-License-Identifier: MIT
#include "coordinator/plan/gates.h"

#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

std::vector<std::string> lines(const std::vector<Unit>& units) {
    const auto gates = gates_of(units);
    if (!gates) return {"unknown"};
    std::vector<std::string> out;
    for (const Gate& gate : *gates) {
        out.push_back(std::to_string(gate.waiter) + " on " + std::to_string(gate.holder) + ": " + describe(gate) +
                      ", " + to_string(gate.reason));
    }
    return out;
}

std::vector<Unit> units(const std::string& name) {
    const auto parsed = parse_units(read_data(name));
    EXPECT_TRUE(parsed.ok()) << parsed.error().message;
    return parsed ? *parsed : std::vector<Unit>{};
}

using Lines = std::vector<std::string>;

TEST(Gates, OneCacheDirectoryUnderDifferentGroupNames) {
    EXPECT_EQ(lines(units("gates_cache.json")), (Lines{"2 on 0: prepare after finish, same cache directory",
                                                       "3 on 2: prepare after finish, same cache directory"}));
}

TEST(Gates, RepeatedGroupNamesUnderDifferentCaches) {
    EXPECT_EQ(lines(units("gates_group.json")), (Lines{"2 on 0: conclude after conclude, same group name",
                                                       "3 on 2: conclude after conclude, same group name"}));
}

TEST(Gates, BothAtOnceAreTwoGates) {
    EXPECT_EQ(lines(units("gates_both.json")), (Lines{"1 on 0: conclude after conclude, same group name",
                                                      "2 on 0: prepare after finish, same cache directory",
                                                      "2 on 1: conclude after conclude, same group name"}));
}

TEST(Gates, SameKeyInAnotherGroupIsAnotherDirectory) {
    std::vector<Unit> all = units("gates_group.json");
    all.resize(2);
    EXPECT_EQ(lines(all), Lines{});
}

TEST(Gates, UnknownNamesAreNotNoGates) {
    std::vector<Unit> all = units("gates_group.json");
    all[1].group_name.reset();
    EXPECT_EQ(gates_of(all), std::nullopt);
    all = units("gates_group.json");
    all[3].cache_key.reset();
    EXPECT_EQ(gates_of(all), std::nullopt);
}

TEST(Gates, ResultDrivenUnitsNeitherWaitNorHold) {
    std::vector<Unit> all = units("gates_group.json");
    for (Unit& unit : all) {
        unit.result_driven = true;
        unit.group_name.reset();
    }
    EXPECT_EQ(lines(all), Lines{});
    all = units("gates_group.json");
    all[2].result_driven = true;
    EXPECT_EQ(lines(all), (Lines{"3 on 0: conclude after conclude, same group name"}));
}

}  // namespace
}  // namespace tunefarm::plan
