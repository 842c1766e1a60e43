// SPDX-License-Identifier: MIT
#include "coordinator/plan/yaml_tree.h"

#include <gtest/gtest.h>

#include "coordinator/plan/normalised.h"
#include "tests/plan/fixtures.h"

namespace tunefarm::plan {
namespace {

std::string json_of(const std::string& yaml, const YamlLimits& limits = {}) {
    auto tree = parse_yaml(yaml, "t.yaml", limits);
    return tree ? to_json((*tree)->root()) : tree.error().message;
}

TEST(YamlTree, MergedEntriesComeFirstAndOwnOnesWin) {
    auto tree = parse_yaml(read_data("merge.yaml"), "merge.yaml");
    ASSERT_TRUE(tree.ok());
    const YamlNode& root = (*tree)->root();
    EXPECT_EQ(to_json(*root.find("own wins")), R"({"a":1,"b":9})");
    EXPECT_EQ(to_json(*root.find("first of list wins")), R"({"b":2,"c":4,"a":1})");
}

TEST(YamlTree, AliasesShareTheirNode) {
    auto tree = parse_yaml("a: &x [1, 2]\nb: *x\n", "t.yaml");
    ASSERT_TRUE(tree.ok());
    EXPECT_EQ((*tree)->root().find("a"), (*tree)->root().find("b"));
}

TEST(YamlTree, RepeatedKeyKeepsTheFirstPlaceAndTheLastValue) {
    EXPECT_EQ(json_of("a: 1\nb: 2\na: 3\n"), R"({"a":3,"b":2})");
}

TEST(YamlTree, KeysThatPythonTakesAsEqualAreOne) {
    EXPECT_EQ(json_of("1: a\n1.0: b\nyes: c\n'1': d\n"), R"({"yes":"c","1":"d"})");
}

TEST(YamlTree, QuotedScalarsAreText) {
    EXPECT_EQ(json_of("['1', \"yes\", !!str 010, 010]"), R"(["1","yes","010",8])");
}

TEST(YamlTree, QuotedMergeWordIsAnOrdinaryKey) {
    EXPECT_EQ(json_of("{'<<': {a: 1}}"), R"({"<<":{"a":1}})");
}

TEST(YamlTree, MarksCountFromOneInCharacters) {
    auto tree = parse_yaml("ä: x\nb: [ü, here]\n", "t.yaml");
    ASSERT_TRUE(tree.ok());
    EXPECT_EQ((*tree)->root().find("b")->items.at(1)->mark, (Mark{2, 8}));
}

TEST(YamlTree, EmptyFileIsNull) {
    EXPECT_EQ(json_of(""), "null");
    EXPECT_EQ(json_of("# nothing\n"), "null");
}

TEST(YamlTree, ExpansionIsCountedWithoutExpanding) {
    std::string bomb = "a0: &a0 [x, x]\n";
    for (int i = 1; i < 200; ++i) {
        const std::string last = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last + ", " + last + "]\n";
    }
    EXPECT_NE(json_of(bomb).find("with its aliases expanded"), std::string::npos);
}

TEST(YamlTree, LimitsNameTheirValue) {
    YamlLimits limits;
    limits.nodes = 5;
    EXPECT_EQ(json_of("[1, 2, 3, 4, 5]", limits), "t.yaml:1:14: the file has more than 5 values");
    limits = {};
    limits.depth = 2;
    EXPECT_EQ(json_of("[[[1]]]", limits), "t.yaml:1:3: lists and maps are nested more than 2 deep");
    limits = {};
    limits.scalar = 3;
    EXPECT_EQ(json_of("- abcd", limits), "t.yaml:1:3: this text has 4 bytes, the limit is 3");
    limits = {};
    limits.bytes = 3;
    EXPECT_EQ(json_of("- abcd", limits), "t.yaml:1:1: the file has 6 bytes, the limit is 3");
    limits = {};
    limits.expanded_bytes = 10;
    EXPECT_EQ(json_of("[&a abcd, *a, *a]", limits).substr(0, 11), "t.yaml:1:1:");
}

TEST(YamlTree, RepeatedMergesAreCharged) {
    YamlLimits limits;
    limits.nodes = 40;
    EXPECT_NE(json_of("a: &a {b: 1, c: 2, d: 3}\ne: {<<: [*a, *a, *a, *a, *a, *a, *a]}\n", limits).find("more than 40"),
              std::string::npos);
}

}  // namespace
}  // namespace tunefarm::plan
