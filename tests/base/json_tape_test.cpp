// SPDX-License-Identifier: MIT
#include "base/json_tape.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace tunefarm {
namespace {

bool good(const std::string& text) {
    return JsonTape::parse(text).ok();
}

const char* const kSample =
    R"({"event":"row","id":17,"row":{"a":[1,-2.5e3,true,null,"\u00e9\ud83d\ude00\n"],"é":{},"z":[[],[{}]]},"x":0})";

TEST(JsonTapeTest, FindsMembersAndElements) {
    const std::string text = R"( {"name":"k\"1", "list":[1, 2.5,"x"],"deep":{"n":-7},"none":null} )";
    const auto tape = JsonTape::parse(text);
    ASSERT_TRUE(tape.ok()) << tape.error().message;
    const JsonValue root = tape->root();
    EXPECT_EQ(root.find("name").text(), "k\"1");
    EXPECT_EQ(root.find("deep").find("n").integer(), -7);
    EXPECT_TRUE(root.find("none").is_null());
    EXPECT_FALSE(root.find("absent"));
    EXPECT_EQ(root.find("list").raw(), R"([1, 2.5,"x"])");
    std::vector<std::string> seen;
    root.find("list").each_element([&](JsonValue item) { seen.emplace_back(item.raw()); });
    EXPECT_EQ(seen, (std::vector<std::string>{"1", "2.5", "\"x\""}));
    seen.clear();
    root.each_member([&](const std::string& key, JsonValue) { seen.push_back(key); });
    EXPECT_EQ(seen, (std::vector<std::string>{"name", "list", "deep", "none"}));
    EXPECT_FALSE(root.find("list").find("x")) << "a list has no members";
}

TEST(JsonTapeTest, OnlyWholeNumbersOf64BitsAreIntegers) {
    const std::string text = R"([1.0,9223372036854775807,9223372036854775808,1e2,"1"])";
    const auto tape = JsonTape::parse(text);
    ASSERT_TRUE(tape.ok());
    std::vector<std::optional<std::int64_t>> seen;
    tape->root().each_element([&](JsonValue item) { seen.push_back(item.integer()); });
    EXPECT_EQ(seen, (std::vector<std::optional<std::int64_t>>{{}, 9223372036854775807, {}, {}, {}}));
}

TEST(JsonTapeTest, CanonicalTextIsThatOfASortedTree) {
    for (const std::string text :
         {R"({"a":1,"b":[true,null,"x"]})", R"({"b":1,"a":2})", R"({"a" : 1})", R"([1,2 ])", R"({"a":{"z":0,"y":0}})",
          R"([1.50,1e2,-0,0,12345678901234567890])", R"(["\u0041\/\n","é"])", R"({"a":1,"B":2})", R"([ ])", R"({})"}) {
        const auto tape = JsonTape::parse(text);
        ASSERT_TRUE(tape.ok()) << text;
        EXPECT_EQ(tape->root().canonical(), nlohmann::json::parse(text).dump()) << text;
    }
}

TEST(JsonTapeTest, RefusesWhatIsAmbiguousOrBeyondItsBounds) {
    EXPECT_FALSE(good(R"({"a":1,"b":2,"a":3})")) << "the same key twice";
    EXPECT_FALSE(good("1e999"));
    EXPECT_TRUE(good(std::string(64, '[') + std::string(64, ']')));
    EXPECT_FALSE(good(std::string(65, '[') + std::string(65, ']')));
    EXPECT_FALSE(good(std::string(1'000'000, '[')));
    const auto wrong = JsonTape::parse("[1,}");
    ASSERT_FALSE(wrong.ok());
    EXPECT_EQ(wrong.error().message, "not a JSON value (byte 4)");
}

/// Texts near the border between right and wrong: a sample with a few bytes changed, removed or doubled.
TEST(JsonTapeTest, AcceptsExactlyWhatTheTreeParserAccepts) {
    std::mt19937 random(1);
    const std::string alphabet = "{}[]\",:\\u0123eE+-.tfn \n\xC3\xA9\xED\xA0\x80\xF4\x90\x7F\x01";
    int right = 0;
    for (int round = 0; round < 20'000; ++round) {
        std::string text = kSample;
        for (std::size_t edits = random() % 3 + 1; edits > 0; --edits) {
            const std::size_t at = random() % text.size();
            switch (random() % 3) {
                case 0: text[at] = alphabet[random() % alphabet.size()]; break;
                case 1: text.erase(at, 1); break;
                default: text.insert(at, 1, alphabet[random() % alphabet.size()]); break;
            }
        }
        const bool expected = nlohmann::json::accept(text);
        right += expected ? 1 : 0;
        const auto tape = JsonTape::parse(text);
        if (!tape.ok() && tape.error().message.find("same key twice") != std::string::npos) continue;
        ASSERT_EQ(tape.ok(), expected) << text;
        if (!expected) continue;
        ASSERT_EQ(tape->root().canonical(), nlohmann::json::parse(text).dump()) << text;
    }
    EXPECT_GT(right, 1000);
}

}  // namespace
}  // namespace tunefarm
