// SPDX-License-Identifier: MIT
#include "coordinator/plan/yaml_scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tunefarm::plan {
namespace {

bool is_text(const char* text) {
    return std::holds_alternative<std::monostate>(resolve_scalar(text));
}
std::int64_t integer(const char* text) {
    const YamlScalar value = resolve_scalar(text);
    EXPECT_TRUE(std::holds_alternative<std::int64_t>(value)) << text;
    return std::holds_alternative<std::int64_t>(value) ? std::get<std::int64_t>(value) : -12345;
}
double number(const char* text) {
    const YamlScalar value = resolve_scalar(text);
    EXPECT_TRUE(std::holds_alternative<double>(value)) << text;
    return std::holds_alternative<double>(value) ? std::get<double>(value) : -12345.0;
}

TEST(YamlScalar, BooleansAreElevenWordsInThreeCases) {
    for (const char* text : {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}) {
        EXPECT_EQ(std::get<bool>(resolve_scalar(text)), true) << text;
    }
    for (const char* text : {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}) {
        EXPECT_EQ(std::get<bool>(resolve_scalar(text)), false) << text;
    }
    for (const char* text : {"y", "n", "tRUE", "oN"}) EXPECT_TRUE(is_text(text)) << text;
}

TEST(YamlScalar, NullHasFiveSpellings) {
    for (const char* text : {"", "~", "null", "Null", "NULL"}) {
        EXPECT_TRUE(std::holds_alternative<YamlNullScalar>(resolve_scalar(text))) << text;
    }
    EXPECT_TRUE(is_text("nULL"));
}

TEST(YamlScalar, IntegersMayBeOctalHexBinaryAndSexagesimal) {
    EXPECT_EQ(integer("0"), 0);
    EXPECT_EQ(integer("-0"), 0);
    EXPECT_EQ(integer("+12"), 12);
    EXPECT_EQ(integer("1_000"), 1000);
    EXPECT_EQ(integer("017"), 15);
    EXPECT_EQ(integer("-0x1F"), -31);
    EXPECT_EQ(integer("0b101"), 5);
    EXPECT_EQ(integer("1:30"), 90);
    EXPECT_EQ(integer("-1:30:00"), -5400);
    EXPECT_EQ(integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(integer("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
    for (const char* text : {"08", "0o17", "_1", "1:60", "-", "0b", "1LDSBuffer"}) EXPECT_TRUE(is_text(text)) << text;
}

TEST(YamlScalar, IntegersBeyond64BitsAreRefused) {
    for (const char* text : {"9223372036854775808", "-9223372036854775809", "0xffffffffffffffff"}) {
        EXPECT_TRUE(std::holds_alternative<YamlBadScalar>(resolve_scalar(text))) << text;
    }
}

TEST(YamlScalar, FloatsNeedAPointAndASignedExponent) {
    EXPECT_EQ(number("1.5"), 1.5);
    EXPECT_EQ(number("1."), 1.0);
    EXPECT_EQ(number(".5"), 0.5);
    EXPECT_EQ(number("1.0e+5"), 1e5);
    EXPECT_EQ(number("1_0.2_5"), 10.25);
    EXPECT_EQ(number("1:30.5"), 90.5);
    EXPECT_EQ(number("-.inf"), -std::numeric_limits<double>::infinity());
    EXPECT_TRUE(std::isnan(number(".NaN")));
    for (const char* text : {"1e5", "1.0e5", "-.5", "-.nan", "4.14.0", "2001-01-01"})
        EXPECT_TRUE(is_text(text)) << text;
}

}  // namespace
}  // namespace tunefarm::plan
