// SPDX-License-Identifier: MIT
#include "protocol/artifact_messages.h"

#include <gtest/gtest.h>

#include <random>

#include "protocol/limits.h"
#include "tests/protocol/golden.h"
#include "tests/protocol/samples.h"

namespace tunefarm::protocol {
namespace {

TEST(ArtifactMessages, RoundTripAndGoldenBytesOfEveryRequest) {
    const auto all = samples::artifact_requests();
    ASSERT_EQ(all.size(), std::variant_size_v<ArtifactRequest>);
    for (const auto& [name, message] : all) {
        const std::string frame = encode(message);
        const std::string stored = golden::load("artifact_" + name, frame);
        EXPECT_EQ(frame, stored) << name;
        const auto decoded = decode_artifact_request(stored);
        ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
        EXPECT_TRUE(*decoded == message) << name;
    }
}

TEST(ArtifactMessages, RoundTripAndGoldenBytesOfEveryReply) {
    const auto all = samples::artifact_replies();
    ASSERT_EQ(all.size(), std::variant_size_v<ArtifactReply>);
    for (const auto& [name, message] : all) {
        const std::string frame = encode(message);
        const std::string stored = golden::load("artifact_" + name, frame);
        EXPECT_EQ(frame, stored) << name;
        const auto decoded = decode_artifact_reply(stored);
        ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
        EXPECT_TRUE(*decoded == message) << name;
    }
}

TEST(ArtifactMessages, SurvivesFlippedBits) {
    std::mt19937 random(4);
    int refused = 0;
    const auto flip = [&](std::string frame) {
        const std::size_t bit = random() % (frame.size() * 8);
        frame[bit / 8] = static_cast<char>(frame[bit / 8] ^ (1 << (bit % 8)));
        return frame;
    };
    for (int i = 0; i < 2000; ++i) {
        for (const auto& [name, message] : samples::artifact_requests()) {
            refused += decode_artifact_request(flip(encode(message))).ok() ? 0 : 1;
        }
        for (const auto& [name, message] : samples::artifact_replies()) {
            refused += decode_artifact_reply(flip(encode(message))).ok() ? 0 : 1;
        }
    }
    EXPECT_GT(refused, 100);
}

TEST(ArtifactMessages, RefusesImpossibleLengths) {
    EXPECT_FALSE(decode_artifact_request(encode(ArtifactRequest{Get{1, Digest{}, 0, kMaxChunk + 1, false}})).ok());
    EXPECT_FALSE(decode_artifact_request(encode(ArtifactRequest{Get{1, Digest{}, kMaxArtifact + 1, 1, false}})).ok());
    FindMissing find;
    find.digests.resize(kMaxDigests + 1);
    EXPECT_FALSE(decode_artifact_request(encode(ArtifactRequest{find})).ok());
    find.digests.resize(kMaxDigests);
    EXPECT_TRUE(decode_artifact_request(encode(ArtifactRequest{find})).ok());
}

TEST(ArtifactMessages, ChunksAreCompressedOnlyWhenThatHelps) {
    ChunkCodec codec = ChunkCodec::kRaw;
    const std::string text(10000, 'a');
    const std::string packed = pack_chunk(text, true, codec);
    EXPECT_EQ(codec, ChunkCodec::kZstd);
    EXPECT_LT(packed.size(), 100U);
    EXPECT_EQ(*unpack_chunk(packed, codec, 10000), text);

    std::mt19937 random(1);
    std::string noise(10000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    EXPECT_EQ(pack_chunk(noise, true, codec), noise);
    EXPECT_EQ(codec, ChunkCodec::kRaw);
    EXPECT_EQ(pack_chunk(text, false, codec), text);
    EXPECT_EQ(codec, ChunkCodec::kRaw);
}

TEST(ArtifactMessages, RefusesChunksThatAreNotWhatTheySay) {
    ChunkCodec codec = ChunkCodec::kRaw;
    const std::string packed = pack_chunk(std::string(10000, 'a'), true, codec);
    EXPECT_FALSE(unpack_chunk(packed, codec, 9999).ok()) << "a decompression bomb must not be unpacked";
    EXPECT_FALSE(unpack_chunk(packed, codec, 10001).ok());
    EXPECT_FALSE(unpack_chunk("abc", ChunkCodec::kRaw, 4).ok());
    EXPECT_FALSE(unpack_chunk("not zstd", ChunkCodec::kZstd, 4).ok());
    EXPECT_FALSE(unpack_chunk(packed, codec, kMaxChunk + 1).ok());
}

}  // namespace
}  // namespace tunefarm::protocol
