// SPDX-License-Identifier: MIT
#include "storage/miopen/bzip2.h"

#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

const std::string kContent = large_find_db(2000);

TEST(Bzip2, EveryLengthComesBack) {
    for (const std::string& content : {std::string(), std::string("x"), kContent}) {
        const auto packed = bzip2_compress(content);
        ASSERT_TRUE(packed.ok());
        EXPECT_TRUE(is_bzip2(*packed));
        const auto unpacked = bzip2_decompress(*packed, 1 << 30);
        ASSERT_TRUE(unpacked.ok()) << unpacked.error().message;
        EXPECT_EQ(*unpacked, content);
    }
    EXPECT_FALSE(is_bzip2(kContent));
}

TEST(Bzip2, StreamsOneAfterTheOtherAreOneContent) {
    const auto unpacked = bzip2_decompress(*bzip2_compress("one ") + *bzip2_compress("two"), 100);
    ASSERT_TRUE(unpacked.ok());
    EXPECT_EQ(*unpacked, "one two");
}

TEST(Bzip2, ACutOrDamagedStreamIsRefusedAtEveryPlace) {
    const std::string packed = *bzip2_compress(kContent);
    for (std::size_t size = 0; size < packed.size(); size += 97) {
        const auto result = bzip2_decompress(packed.substr(0, size), 1 << 30);
        ASSERT_FALSE(result.ok()) << size;
        EXPECT_EQ(result.error().kind, ErrorKind::kCorruption);
    }
    std::string damaged = packed;
    damaged[damaged.size() / 2] = static_cast<char>(~damaged[damaged.size() / 2]);
    EXPECT_FALSE(bzip2_decompress(damaged, 1 << 30).ok());
    EXPECT_FALSE(bzip2_decompress(packed + "rest", 1 << 30).ok());
}

TEST(Bzip2, AnExpansionBeyondTheLimitIsRefused) {
    const std::string bomb = *bzip2_compress(std::string(8 << 20, 'a'));
    const auto result = bzip2_decompress(bomb, 1 << 20);
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find("limit of 1048576"), std::string::npos);
}

}  // namespace
}  // namespace tunefarm::miopen
