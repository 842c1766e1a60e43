// SPDX-License-Identifier: MIT
#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace tunefarm {
namespace {

Result<int> half(int value) {
    if (value % 2 != 0) return Error{ErrorKind::kInput, std::to_string(value) + " is odd"};
    return value / 2;
}

Result<int> quarter(int value) {
    TUNEFARM_ASSIGN(const int once, half(value));
    TUNEFARM_ASSIGN(const int twice, half(once));
    return twice;
}

Status check_even(int value) {
    TUNEFARM_TRY(half(value));
    return {};
}

TEST(Result, HoldsAValueOrAnError) {
    const Result<int> good = half(4);
    ASSERT_TRUE(good.ok());
    EXPECT_TRUE(static_cast<bool>(good));
    EXPECT_EQ(*good, 2);
    const Result<int> bad = half(3);
    ASSERT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().kind, ErrorKind::kInput);
    EXPECT_EQ(bad.error().message, "3 is odd");
}

TEST(Result, EarlyReturnsCarryTheFirstError) {
    EXPECT_EQ(*quarter(8), 2);
    EXPECT_EQ(quarter(6).error().message, "3 is odd");
    EXPECT_TRUE(check_even(2).ok());
    EXPECT_EQ(check_even(5).error().message, "5 is odd");
}

TEST(Result, MovesValuesThatCannotBeCopied) {
    Result<std::unique_ptr<int>> boxed = std::make_unique<int>(7);
    ASSERT_TRUE(boxed.ok());
    EXPECT_EQ(**boxed, 7);
    const std::unique_ptr<int> taken = std::move(boxed).value();
    EXPECT_EQ(*taken, 7);
}

TEST(Result, ReadingTheValueOfAFailureAborts) {
    EXPECT_DEATH((void)half(3).value(), "");
}

TEST(Result, ErrorsNameThePlaceOnTheWayUp) {
    const Error outer = Error{ErrorKind::kTimeout, "no answer"}.in("driver").in("task 7");
    EXPECT_EQ(outer.kind, ErrorKind::kTimeout);
    EXPECT_EQ(outer.message, "task 7: driver: no answer");
}

TEST(Result, ErrnoBecomesAKind) {
    const auto kind = [](int code) {
        errno = code;
        return errno_error("x").kind;
    };
    EXPECT_EQ(kind(ENOSPC), ErrorKind::kNoSpace);
    EXPECT_EQ(kind(EDQUOT), ErrorKind::kNoSpace);
    EXPECT_EQ(kind(ENOMEM), ErrorKind::kNoSpace);
    EXPECT_EQ(kind(ENOENT), ErrorKind::kNotFound);
    EXPECT_EQ(kind(ENOTDIR), ErrorKind::kNotFound);
    EXPECT_EQ(kind(EACCES), ErrorKind::kIo);
    errno = EACCES;
    EXPECT_EQ(errno_error("/root/x").message, "/root/x: Permission denied");
}

}  // namespace
}  // namespace tunefarm
