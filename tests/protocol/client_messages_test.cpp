// SPDX-License-Identifier: MIT
#include "protocol/client_messages.h"

#include <gtest/gtest.h>

#include <random>

#include "protocol/codec.h"
#include "protocol/limits.h"
#include "tests/protocol/golden.h"
#include "tests/protocol/samples.h"

namespace tunefarm::protocol {
namespace {

std::vector<std::pair<std::string, ClientRequest>> requests() {
    return {{"client_explain", {1, ExplainTasks{CampaignId{5}, 2, TaskKind::kBuild, 17}}},
            {"client_cancel", {2, CancelCampaign{CampaignId{6}}}},
            {"client_progress", {3, CampaignProgress{CampaignId{7}}}},
            {"client_submit",
             {4, SubmitCampaign{"nightly", {"gfx942", "gfx950"}, true, -3, {{"a.yaml", samples::digest_of(5)}}}}},
            {"client_retry", {5, RetryCampaign{CampaignId{8}, true}}}};
}

std::vector<std::pair<std::string, ClientReply>> replies() {
    return {{"client_answer", {8, true, R"({"version":1})", ErrorKind::kInternal, ""}},
            {"client_failed", {9, false, "", ErrorKind::kNotFound, "no campaign 7 here"}}};
}

TEST(ClientMessages, WritesAndReadsTheGoldenBytes) {
    ASSERT_EQ(requests().size(), std::variant_size_v<decltype(ClientRequest::what)>);
    for (const auto& [name, message] : requests()) {
        const std::string frame = encode(message);
        EXPECT_EQ(frame, golden::load(name, frame)) << name;
        const auto decoded = decode_to_coordinator(frame);
        ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
        EXPECT_TRUE(*decoded == ToCoordinator(message)) << name;
    }
    for (const auto& [name, message] : replies()) {
        const std::string frame = encode(message);
        EXPECT_EQ(frame, golden::load(name, frame)) << name;
        const auto decoded = decode_client_reply(frame);
        ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.error().message;
        EXPECT_TRUE(*decoded == message) << name;
    }
}

TEST(ClientMessages, WhatIsNotAskedForIsAbsent) {
    const ClientRequest request{4, ExplainTasks{}};
    const auto decoded = decode_to_coordinator(encode(request));
    ASSERT_TRUE(decoded.ok());
    EXPECT_TRUE(*decoded == ToCoordinator(request));
}

TEST(ClientMessages, AWorkersFrameIsAWorkersMessageAndNeverAClients) {
    for (const auto& [name, message] : samples::from_worker()) {
        const auto decoded = decode_to_coordinator(encode(message));
        ASSERT_TRUE(decoded.ok()) << name;
        EXPECT_TRUE(*decoded == ToCoordinator(message)) << name;
    }
    EXPECT_EQ(decode_from_worker(encode(requests()[0].second)).error().kind, ErrorKind::kUnsupported);
    EXPECT_EQ(decode_from_coordinator(encode(replies()[0].second)).error().kind, ErrorKind::kUnsupported);
}

TEST(ClientMessages, ACoordinatorsRefusalIsTheReply) {
    const auto refused = decode_client_reply(encode(FromCoordinator{Refused{"upgrade the coordinator"}}));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
    EXPECT_EQ(refused.error().message, "upgrade the coordinator");
    EXPECT_EQ(decode_client_reply(encode(FromCoordinator{Welcome{}})).error().kind, ErrorKind::kCorruption);
}

TEST(ClientMessages, RefusesWhatIsBeyondTheLimits) {
    EXPECT_FALSE(decode_to_coordinator(encode(ClientRequest{1, CancelCampaign{CampaignId{-1}}})).ok());
    EXPECT_FALSE(decode_to_coordinator(encode(ClientRequest{1, ExplainTasks{CampaignId{1}, -2, {}, {}}})).ok());
    EXPECT_FALSE(
        decode_to_coordinator(encode(ClientRequest{1, ExplainTasks{CampaignId{1}, 0, TaskKind{kTaskKinds}, {}}})).ok());
    EXPECT_FALSE(
        decode_client_reply(encode(ClientReply{1, true, std::string(kMaxJson + 1, ' '), ErrorKind::kIo, ""})).ok());
    const ClientReply talkative{1, false, "", ErrorKind::kIo, std::string(kMaxReason + 1, 'm')};
    EXPECT_EQ(decode_client_reply(encode(talkative))->message.size(), kMaxReason);
}

TEST(ClientMessages, SurviveFlippedBitsAndTruncation) {
    std::mt19937 random(20261201);
    int refused = 0;
    for (const auto& [name, message] : requests()) {
        const std::string frame = encode(message);
        for (std::size_t size = 0; size < frame.size(); ++size) {
            EXPECT_FALSE(decode_to_coordinator(std::string_view(frame).substr(0, size)).ok());
        }
        for (int i = 0; i < 3000; ++i) {
            std::string mutated = frame;
            const std::size_t bit = random() % (frame.size() * 8);
            mutated[bit / 8] = static_cast<char>(mutated[bit / 8] ^ (1 << (bit % 8)));
            refused += decode_to_coordinator(mutated).ok() ? 0 : 1;
        }
    }
    EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tunefarm::protocol
