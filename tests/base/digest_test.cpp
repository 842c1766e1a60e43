// SPDX-License-Identifier: MIT
#include "base/digest.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"

namespace tunefarm {
namespace {

// Known answers: FIPS 180-4 examples and NIST's long message of a million 'a'.
TEST(Digest, MatchesKnownAnswers) {
    EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex(),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256(std::string(1'000'000, 'a')).hex(),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, IncrementalHashingEqualsOneShot) {
    Hasher hasher;
    hasher.add("ab").add("").add("c");
    EXPECT_EQ(hasher.finish(), sha256("abc"));
}

TEST(Digest, FieldsCannotBeShiftedIntoEachOther) {
    EXPECT_NE(Hasher().add_field("ab").add_field("c").finish(), Hasher().add_field("a").add_field("bc").finish());
    EXPECT_NE(Hasher().add_field("").add_field("a").finish(), Hasher().add_field("a").add_field("").finish());
    EXPECT_EQ(Hasher().add_field("abc").finish(), sha256(std::string("\x03\0\0\0\0\0\0\0abc", 11)));
}

TEST(Digest, HexRoundTripsAndRefusesEverythingElse) {
    const Digest digest = sha256("abc");
    EXPECT_EQ(Digest::from_hex(digest.hex()), digest);
    EXPECT_EQ(Digest::from_hex(""), std::nullopt);
    EXPECT_EQ(Digest::from_hex(digest.hex().substr(1)), std::nullopt);
    EXPECT_EQ(Digest::from_hex(digest.hex() + "0"), std::nullopt);
    EXPECT_EQ(Digest::from_hex("B" + digest.hex().substr(1)), std::nullopt) << "upper case would be a second name";
    EXPECT_EQ(Digest::from_hex("g" + digest.hex().substr(1)), std::nullopt);
    EXPECT_TRUE(Digest{}.is_zero());
    EXPECT_FALSE(digest.is_zero());
}

TEST(Digest, OfAFileCoversAllChunks) {
    const auto folder = make_temporary_directory(testing::TempDir() + "digest");
    ASSERT_TRUE(folder.ok());
    const std::string content = std::string((1 << 18) + 17, 'x') + "end";
    ASSERT_TRUE(write_file_atomically(*folder + "/big", content).ok());
    ASSERT_TRUE(write_file_atomically(*folder + "/empty", "").ok());
    const auto of_file = sha256_file(*folder + "/big");
    ASSERT_TRUE(of_file.ok());
    EXPECT_EQ(*of_file, sha256(content));
    const auto of_empty = sha256_file(*folder + "/empty");
    ASSERT_TRUE(of_empty.ok());
    EXPECT_EQ(*of_empty, sha256(""));
    const auto missing = sha256_file(*folder + "/missing");
    ASSERT_FALSE(missing.ok());
    EXPECT_EQ(missing.error().kind, ErrorKind::kNotFound);
    EXPECT_FALSE(sha256_file(*folder).ok()) << "a directory has no content";
    ASSERT_TRUE(remove_tree(*folder).ok());
}

}  // namespace
}  // namespace tunefarm
