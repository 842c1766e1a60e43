// SPDX-License-Identifier: MIT
#include <capnp/message.h>
#include <gtest/gtest.h>

#include <cstring>

#include "protocol/codec.h"
#include "protocol/wire.h"

namespace tunefarm::protocol {
namespace {

/// The root struct's discriminant is the first 16 bits of its data section; in a one-segment frame that is right after
/// the segment table (8 bytes) and the root pointer (8 bytes).
std::string with_tag(std::string frame, std::uint16_t tag) {
    frame[16] = static_cast<char>(tag & 0xFFU);
    frame[17] = static_cast<char>(tag >> 8U);
    return frame;
}

TEST(HostileFrames, UnknownUnionTagIsUnsupported) {
    const auto worker = decode_from_worker(with_tag(encode(FromWorker{Goodbye{"x"}}), 999));
    ASSERT_FALSE(worker.ok());
    EXPECT_EQ(worker.error().kind, ErrorKind::kUnsupported);
    const auto coordinator = decode_from_coordinator(with_tag(encode(FromCoordinator{Refused{"x"}}), 999));
    ASSERT_FALSE(coordinator.ok());
    EXPECT_EQ(coordinator.error().kind, ErrorKind::kUnsupported);
}

TEST(HostileFrames, DigestsOfAnotherLengthAreRefused) {
    capnp::MallocMessageBuilder builder;
    auto outputs = builder.initRoot<wire::FromWorker>().initResult().initOutputs(1);
    outputs[0].initDigest(31);
    const auto decoded = decode_from_worker(wire::to_frame(builder));
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().kind, ErrorKind::kCorruption);
}

TEST(HostileFrames, ManyPointersToOneObjectHitTheTraversalLimit) {
    // 4096 rows that all point at one text of 60000 bytes: 240 MB from a frame of under 100 KB.
    capnp::MallocMessageBuilder builder(1U << 17);
    auto rows = builder.initRoot<wire::FromWorker>().initRows();
    auto list = rows.initRows(4096);
    list.set(0, capnp::Text::Reader(std::string(60000, 'r').c_str(), 60000));
    for (unsigned i = 1; i < 4096; ++i) list.set(i, "r");
    std::string frame = wire::to_frame(builder);
    ASSERT_TRUE(decode_from_worker(frame).ok());

    // List pointers hold the distance to their content from the word behind them: point every row at the first text.
    const std::string_view first_text = "rrrrrrrr";
    const std::size_t text_at = frame.find(first_text);
    ASSERT_EQ(text_at % 8, 0U);
    const std::size_t list_at = text_at - 4096 * 8;
    std::uint64_t pointer = 0;
    std::memcpy(&pointer, frame.data() + list_at, 8);
    for (std::size_t i = 1; i < 4096; ++i) {
        const std::uint64_t moved = pointer - (static_cast<std::uint64_t>(i) << 2U);
        std::memcpy(frame.data() + list_at + i * 8, &moved, 8);
    }
    const auto decoded = decode_from_worker(frame);
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().kind, ErrorKind::kCorruption);
    EXPECT_NE(decoded.error().message.find("limit"), std::string::npos) << decoded.error().message;
}

TEST(HostileFrames, ListsOfEmptyStructsAreBounded) {
    // A list of structs without fields takes no room; only the declared count says how long it is.
    capnp::MallocMessageBuilder builder;
    auto goodbye = builder.initRoot<wire::FromWorker>().initHeartbeat();
    goodbye.initRunning(1);
    std::string frame = wire::to_frame(builder);
    bool refused = false;
    for (std::size_t at = 16; at + 8 <= frame.size(); at += 8) {
        std::string bad = frame;
        // An inline-composite list with a tag word of 2^29 - 1 elements of zero words.
        const std::uint64_t tag = (((std::uint64_t{1} << 29U) - 1) << 2U);
        std::memcpy(bad.data() + at, &tag, 8);
        refused = !decode_from_worker(bad).ok() || refused;
    }
    EXPECT_TRUE(refused);
}

TEST(HostileFrames, MoreBusyKindsThanThisVersionKnowsAreRefused) {
    capnp::MallocMessageBuilder builder;
    builder.initRoot<wire::FromWorker>().initHeartbeat().initAccount().initBusy(kTaskKinds + 1);
    EXPECT_FALSE(decode_from_worker(wire::to_frame(builder)).ok());
}

TEST(HostileFrames, FewerBusyKindsFromAnOlderWorkerAreZero) {
    capnp::MallocMessageBuilder builder;
    builder.initRoot<wire::FromWorker>().initHeartbeat().initAccount().initBusy(1).set(0, 5);
    const auto decoded = decode_from_worker(wire::to_frame(builder));
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(std::get<WorkerHeartbeat>(*decoded).account.busy[0], Micros{5});
    EXPECT_EQ(std::get<WorkerHeartbeat>(*decoded).account.busy[1], Micros{0});
}

}  // namespace
}  // namespace tunefarm::protocol
