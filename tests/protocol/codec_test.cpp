// SPDX-License-Identifier: MIT
#include "protocol/codec.h"

#include <gtest/gtest.h>

#include <random>

#include "protocol/limits.h"
#include "tests/protocol/golden.h"
#include "tests/protocol/samples.h"

namespace tunefarm::protocol {
namespace {

TEST(Codec, RoundTripKeepsEveryFieldOfEveryWorkerMessage) {
    const auto all = samples::from_worker();
    ASSERT_EQ(all.size(), std::variant_size_v<FromWorker>);
    for (const auto& [name, message] : all) {
        const auto decoded = decode_from_worker(encode(message));
        ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
        EXPECT_TRUE(*decoded == message) << name;
    }
}

TEST(Codec, RoundTripKeepsEveryFieldOfEveryCoordinatorMessage) {
    const auto all = samples::from_coordinator();
    ASSERT_EQ(all.size(), std::variant_size_v<FromCoordinator>);
    for (const auto& [name, message] : all) {
        const auto decoded = decode_from_coordinator(encode(message));
        ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
        EXPECT_TRUE(*decoded == message) << name;
    }
}

TEST(Codec, RoundTripKeepsDefaultMessages) {
    EXPECT_TRUE(decode_from_worker(encode(FromWorker{Hello{}})).ok());
    EXPECT_TRUE(*decode_from_worker(encode(FromWorker{AttemptResult{}})) == FromWorker{AttemptResult{}});
    EXPECT_TRUE(*decode_from_coordinator(encode(FromCoordinator{Assign{}})) == FromCoordinator{Assign{}});
}

TEST(Codec, WritesAndReadsTheGoldenBytes) {
    for (const auto& [name, message] : samples::from_worker()) {
        const std::string frame = encode(message);
        const std::string stored = golden::load(name, frame);
        EXPECT_EQ(frame, stored) << name << " is written differently than its released form";
        const auto decoded = decode_from_worker(stored);
        ASSERT_TRUE(decoded.ok()) << name;
        EXPECT_TRUE(*decoded == message) << name;
    }
    for (const auto& [name, message] : samples::from_coordinator()) {
        const std::string frame = encode(message);
        const std::string stored = golden::load(name, frame);
        EXPECT_EQ(frame, stored) << name << " is written differently than its released form";
        const auto decoded = decode_from_coordinator(stored);
        ASSERT_TRUE(decoded.ok()) << name;
        EXPECT_TRUE(*decoded == message) << name;
    }
}

TEST(Codec, ReadsWhatEarlierVersionsWrote) {
    for (const auto& [name, message] : samples::earlier_from_worker()) {
        const auto decoded = decode_from_worker(golden::load(name, encode(message)));
        ASSERT_TRUE(decoded.ok()) << name;
        EXPECT_TRUE(*decoded == message) << name;
    }
    for (const auto& [name, message] : samples::earlier_from_coordinator()) {
        const auto decoded = decode_from_coordinator(golden::load(name, encode(message)));
        ASSERT_TRUE(decoded.ok()) << name;
        EXPECT_TRUE(*decoded == message) << name;
    }
}

TEST(Codec, ReadsFramesAtAnyAddress) {
    const std::string frame = encode(samples::from_worker().front().second);
    for (std::size_t shift = 0; shift < 8; ++shift) {
        const std::string moved = std::string(shift, 'x') + frame;
        EXPECT_TRUE(decode_from_worker(std::string_view(moved).substr(shift)).ok());
    }
}

TEST(Codec, RefusesEveryTruncation) {
    for (const auto& [name, message] : samples::from_worker()) {
        const std::string frame = encode(message);
        for (std::size_t size = 0; size < frame.size(); ++size) {
            const auto decoded = decode_from_worker(std::string_view(frame).substr(0, size));
            ASSERT_FALSE(decoded.ok()) << name << " cut to " << size;
            EXPECT_EQ(decoded.error().kind, ErrorKind::kCorruption);
        }
    }
}

TEST(Codec, RefusesBytesBehindTheMessage) {
    EXPECT_FALSE(decode_from_worker(encode(FromWorker{Goodbye{"x"}}) + std::string(8, '\0')).ok());
}

TEST(Codec, SurvivesFlippedBits) {
    std::mt19937 random(20261130);
    int refused = 0;
    const auto mutate = [&](std::string frame) {
        const unsigned flips = 1 + random() % 4;
        for (unsigned i = 0; i < flips; ++i) {
            const std::size_t bit = random() % (frame.size() * 8);
            frame[bit / 8] = static_cast<char>(frame[bit / 8] ^ (1 << (bit % 8)));
        }
        return frame;
    };
    for (const auto& [name, message] : samples::from_worker()) {
        const std::string frame = encode(message);
        for (int i = 0; i < 3000; ++i) refused += decode_from_worker(mutate(frame)).ok() ? 0 : 1;
    }
    for (const auto& [name, message] : samples::from_coordinator()) {
        const std::string frame = encode(message);
        for (int i = 0; i < 3000; ++i) refused += decode_from_coordinator(mutate(frame)).ok() ? 0 : 1;
    }
    EXPECT_GT(refused, 1000);
}

TEST(Codec, SurvivesRandomBytes) {
    std::mt19937 random(7);
    for (int i = 0; i < 5000; ++i) {
        std::string frame(8 * (random() % 64), '\0');
        for (char& c : frame) c = static_cast<char>(random());
        if (frame.size() >= 8 && i % 2 == 0) {
            // A valid table for one segment, so that the pointers are reached.
            frame.replace(0, 8, std::string(8, '\0'));
            frame[4] = static_cast<char>(frame.size() / 8 - 1);
        }
        (void)decode_from_worker(frame);
        (void)decode_from_coordinator(frame);
    }
}

TEST(Codec, CutsTextsForPeopleInsteadOfLosingTheMessage) {
    AttemptResult result;
    result.message = std::string(kMaxReason + 10, 'm');
    result.log = std::string(kMaxLogTail, 'x') + "the end";
    const auto decoded = decode_from_worker(encode(FromWorker{result}));
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    const auto& got = std::get<AttemptResult>(*decoded);
    EXPECT_EQ(got.message.size(), kMaxReason);
    EXPECT_EQ(got.log.size(), kMaxLogTail);
    EXPECT_TRUE(got.log.ends_with("the end"));
}

TEST(Codec, NeverCutsInsideACharacter) {
    std::string text;
    while (text.size() < kMaxReason + 5) text += "\xe2\x82\xac";  // three bytes each
    const auto decoded = decode_from_worker(encode(FromWorker{Goodbye{text}}));
    ASSERT_TRUE(decoded.ok());
    const std::string& got = std::get<Goodbye>(*decoded).reason;
    EXPECT_EQ(got.size() % 3, 0U);
    EXPECT_GT(got.size(), kMaxReason - 3);

    AttemptResult result;
    result.log = text;
    const auto with_log = decode_from_worker(encode(FromWorker{result}));
    ASSERT_TRUE(with_log.ok());
    EXPECT_EQ(std::get<AttemptResult>(*with_log).log.size() % 3, 0U);
}

TEST(Codec, RefusesTextsAndListsBeyondTheirLimits) {
    Hello hello;
    hello.host = std::string(kMaxName + 1, 'h');
    EXPECT_FALSE(decode_from_worker(encode(FromWorker{hello})).ok());
    hello.host = std::string(kMaxName, 'h');
    EXPECT_TRUE(decode_from_worker(encode(FromWorker{hello})).ok());

    Rows rows;
    rows.rows.assign(kMaxRows + 1, "{}");
    EXPECT_FALSE(decode_from_worker(encode(FromWorker{rows})).ok());
    rows.rows.assign(kMaxRows, "{}");
    EXPECT_TRUE(decode_from_worker(encode(FromWorker{rows})).ok());

    Ack ack;
    ack.keys.assign(kMaxKeys + 1, samples::key(1, 1));
    EXPECT_FALSE(decode_from_coordinator(encode(FromCoordinator{ack})).ok());
    ack.keys.assign(kMaxKeys, samples::key(1, 1));
    EXPECT_TRUE(decode_from_coordinator(encode(FromCoordinator{ack})).ok());
}

TEST(Codec, CheckFrameFindsWhatTheReceiverWouldRefuse) {
    AttemptResult result;
    result.result = std::string(kMaxJson + 1, ' ');
    const Status status = check_frame(encode(FromWorker{result}));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kInput);
    EXPECT_TRUE(check_frame(encode(FromWorker{AttemptResult{}})).ok());
}

TEST(Codec, RefusesFramesAboveTheFrameLimit) {
    Rows rows;
    rows.rows.assign(40, std::string(kMaxRow, 'r'));
    const auto decoded = decode_from_worker(encode(FromWorker{rows}));
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().kind, ErrorKind::kCorruption);
}

TEST(Codec, RefusesImpossibleNumbers) {
    AttemptResult result;
    result.outcome = static_cast<Outcome>(kOutcomes);
    EXPECT_FALSE(decode_from_worker(encode(FromWorker{result})).ok());
    result = {};
    result.timings.cpu = Micros{-1};
    EXPECT_FALSE(decode_from_worker(encode(FromWorker{result})).ok());
    result = {};
    result.key = samples::key(-1, 0);
    EXPECT_FALSE(decode_from_worker(encode(FromWorker{result})).ok());
    Assign assign;
    assign.kind = static_cast<TaskKind>(kTaskKinds);
    EXPECT_FALSE(decode_from_coordinator(encode(FromCoordinator{assign})).ok());
    EXPECT_FALSE(decode_from_worker(encode(FromWorker{Credit{1, Bytes{-1}, ""}})).ok());
}

TEST(Codec, RefusesInputPathsThatLeaveTheirDirectory) {
    for (const char* path : {"/etc/passwd", "..", "a/../b", "a//b", "./a", "a/", "a/.."}) {
        Assign assign;
        assign.inputs = {{"in", path, Digest{}, 1}};
        EXPECT_FALSE(decode_from_coordinator(encode(FromCoordinator{assign})).ok()) << path;
    }
    Assign assign;
    assign.inputs = {{"in", "a/..b/c.", Digest{}, 1}};
    EXPECT_TRUE(decode_from_coordinator(encode(FromCoordinator{assign})).ok());
}

TEST(Codec, SaysUnsupportedToOtherVersions) {
    Hello hello;
    hello.minor = kMinor + 1;
    auto decoded = decode_from_worker(encode(FromWorker{hello}));
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().kind, ErrorKind::kUnsupported);
    hello.minor = kMinor;
    hello.major = kMajor + 1;
    decoded = decode_from_worker(encode(FromWorker{hello}));
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().kind, ErrorKind::kUnsupported);
    Welcome welcome;
    welcome.minor = kMinor + 1;
    const auto answer = decode_from_coordinator(encode(FromCoordinator{welcome}));
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tunefarm::protocol
