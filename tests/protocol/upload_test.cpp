// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "protocol/artifact_messages.h"
#include "tests/protocol/transfer_fixture.h"

namespace tunefarm::protocol {
namespace {

class UploadTest : public TransferTest {};

TEST_F(UploadTest, StoresSmallLargeAndEmptyArtifacts) {
    serve();
    const std::string large = noise(54321);
    ASSERT_TRUE(write_file_atomically(path("file"), large).ok());
    std::vector<LocalArtifact> all;
    for (int i = 0; i < 30; ++i) all.push_back(local("kernel " + std::to_string(i)));
    all.push_back(local(""));
    all.push_back({sha256(large), path("file"), ""});
    all.push_back(all.front());
    ArtifactClient client(context_, endpoint_, small_chunks());
    const Status put = client.put_all(all);
    ASSERT_TRUE(put.ok()) << put.error().message;
    for (const LocalArtifact& artifact : all) EXPECT_TRUE(backend_.holds(artifact.digest));
}

TEST_F(UploadTest, SendsNothingThatTheServerHolds) {
    serve();
    const std::string bytes = noise(5000);
    backend_.add(bytes);
    ArtifactClient client(context_, endpoint_, small_chunks());
    ASSERT_TRUE(client.put_all({local(bytes)}).ok());
    EXPECT_EQ(client.counters().bytes_out, 0U);
    ASSERT_TRUE(client.put_all({}).ok());
}

TEST_F(UploadTest, ContinuesWhenTheServerRestartsInTheMiddle) {
    const std::string bytes = noise(200'000);
    Gate gate;
    backend_.on_write = [&](int number) {
        if (number >= 50) gate.arrive();
    };
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    Status put;
    std::thread putting([&] { put = client.put_all({local(bytes)}); });
    gate.wait_until_reached();
    server_.reset();
    EXPECT_LT(backend_.bytes_written(), bytes.size());
    gate.open();
    serve();
    putting.join();
    ASSERT_TRUE(put.ok()) << put.error().message;
    EXPECT_TRUE(backend_.holds(sha256(bytes)));
    EXPECT_EQ(backend_.bytes_written(), bytes.size()) << "began again instead of going on";
}

TEST_F(UploadTest, TwoClientsWithTheSameArtifactSendItOnce) {
    serve();
    const std::string bytes = noise(300'000);
    std::vector<Status> results(2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            ArtifactClient client(context_, endpoint_, small_chunks());
            results[static_cast<std::size_t>(i)] = client.put_all({local(bytes)});
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& result : results) EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
    EXPECT_TRUE(backend_.holds(sha256(bytes)));
    EXPECT_EQ(backend_.most_open(), 1);
    EXPECT_EQ(backend_.bytes_written(), bytes.size());
}

TEST_F(UploadTest, AnUploaderThatWentAwayIsReplaced) {
    server_options_.upload_idle = milliseconds(100);
    serve();
    const std::string bytes = noise(10'000);
    {
        auto quitter = ClientSocket::connect(context_, endpoint_, {});
        Put put{1, sha256(bytes), bytes.size(), 0, 1000, ChunkCodec::kRaw};
        ASSERT_EQ(quitter->send(encode(ArtifactRequest{put}), bytes.substr(0, 1000)), Sent::kSent);
        ASSERT_TRUE(wait({*quitter}, milliseconds(10000))[0]);
        const auto answer = decode_artifact_reply(quitter->receive()->payload);
        EXPECT_TRUE(*answer == ArtifactReply(PutStatus{1, 1000, false, false}));
    }
    ArtifactClient client(context_, endpoint_, small_chunks());
    ASSERT_TRUE(client.put_all({local(bytes)}).ok());
    EXPECT_TRUE(backend_.holds(sha256(bytes)));
    EXPECT_EQ(client.counters().bytes_out, 9000U);
}

TEST_F(UploadTest, ContentThatIsNotTheDigestsIsCorruption) {
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    for (const std::size_t size : {10U, 5000U}) {
        LocalArtifact lie = local(noise(size));
        lie.bytes[5] = static_cast<char>(lie.bytes[5] ^ 1);
        const Status put = client.put_all({lie});
        ASSERT_FALSE(put.ok());
        EXPECT_EQ(put.error().kind, ErrorKind::kCorruption);
        EXPECT_FALSE(backend_.holds(lie.digest));
    }
}

TEST_F(UploadTest, AFullDiskIsReportedAsNoSpace) {
    backend_.commit_result = Error{ErrorKind::kNoSpace, "disk full"};
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    const Status put = client.put_all({local("abc")});
    ASSERT_FALSE(put.ok());
    EXPECT_EQ(put.error().kind, ErrorKind::kNoSpace);
}

TEST_F(UploadTest, SourcesThatAreNotFilesAreRefused) {
    serve();
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    ArtifactClient client(context_, endpoint_, small_chunks());
    EXPECT_EQ(client.put_all({{sha256("1"), path("fifo"), ""}}).error().kind, ErrorKind::kInput);
    EXPECT_EQ(client.put_all({{sha256("2"), dir_, ""}}).error().kind, ErrorKind::kInput);
    EXPECT_EQ(client.put_all({{sha256("3"), path("missing"), ""}}).error().kind, ErrorKind::kNotFound);
}

TEST_F(UploadTest, TravelsCompressedOverTcpBothWays) {
    server_options_.socket.insecure = true;
    serve("tcp://127.0.0.1:*");
    const std::string text(50'000, 'v');
    ArtifactClient client(context_, endpoint_, small_chunks());
    ASSERT_TRUE(client.put_all({local(text), local("tiny")}).ok());
    EXPECT_EQ(*client.fetch_bytes(sha256(text), text.size()), text);
    EXPECT_EQ(*client.fetch_bytes(sha256("tiny"), 4), "tiny");
}

TEST_F(UploadTest, GarbageIsAnsweredAndHarmsNobody) {
    serve();
    auto vandal = ClientSocket::connect(context_, endpoint_, {});
    ASSERT_EQ(vandal->send("garbage"), Sent::kSent);
    ASSERT_TRUE(wait({*vandal}, milliseconds(10000))[0]);
    const auto reply = decode_artifact_reply(vandal->receive()->payload);
    ASSERT_TRUE(reply.ok());
    EXPECT_EQ(std::get<Failed>(*reply).kind, ErrorKind::kCorruption);
    ArtifactClient client(context_, endpoint_, small_chunks());
    EXPECT_TRUE(client.put_all({local("fine")}).ok());
    EXPECT_EQ(server_->counters().refused, 1U);
}

TEST_F(UploadTest, PutsBeyondTheSizeAndOtherSizesAreRefused) {
    serve();
    auto client = ClientSocket::connect(context_, endpoint_, {});
    const auto ask = [&](const Put& put, const std::string& bytes) {
        EXPECT_EQ(client->send(encode(ArtifactRequest{put}), bytes), Sent::kSent);
        EXPECT_TRUE(wait({*client}, milliseconds(10000))[0]);
        return *decode_artifact_reply(client->receive()->payload);
    };
    const Digest digest = sha256("0123456789");
    EXPECT_TRUE(std::holds_alternative<Failed>(ask({1, digest, 10, 8, 3, ChunkCodec::kRaw}, "890")));
    EXPECT_TRUE(ask({2, digest, 10, 0, 5, ChunkCodec::kRaw}, "01234") == ArtifactReply(PutStatus{2, 5, false, false}));
    EXPECT_TRUE(std::holds_alternative<Failed>(ask({3, digest, 11, 5, 5, ChunkCodec::kRaw}, "56789")));
    // Early and repeated chunks change nothing and tell where to go on.
    EXPECT_TRUE(ask({4, digest, 10, 7, 3, ChunkCodec::kRaw}, "789") == ArtifactReply(PutStatus{4, 5, false, false}));
    EXPECT_TRUE(ask({5, digest, 10, 0, 5, ChunkCodec::kRaw}, "01234") == ArtifactReply(PutStatus{5, 5, false, false}));
    EXPECT_TRUE(ask({6, digest, 10, 5, 5, ChunkCodec::kRaw}, "56789") == ArtifactReply(PutStatus{6, 10, true, false}));
}

TEST_F(UploadTest, ControlMessagesPassWhileAnArtifactIsMoving) {
    const std::string bytes = noise(4 << 20);
    const Digest digest = backend_.add(bytes);
    serve();
    auto control = ServerSocket::bind(context_, "ipc://" + dir_ + "/c", {});
    auto worker = ClientSocket::connect(context_, control->endpoint(), {});
    std::atomic<bool> moved{false};
    Status fetched;
    std::thread moving([&] {
        ArtifactClient client(context_, endpoint_, {});
        fetched = client.fetch_file(digest, bytes.size(), path("got"));
        moved = true;
    });
    int round_trips = 0;
    while (!moved) {
        ASSERT_EQ(worker->send("ping"), Sent::kSent);
        ASSERT_TRUE(wait({*control}, milliseconds(10000))[0]);
        ASSERT_EQ(control->send(control->receive()->peer, "pong"), Sent::kSent);
        ASSERT_TRUE(wait({*worker}, milliseconds(10000))[0]);
        ASSERT_TRUE(worker->receive());
        ++round_trips;
    }
    moving.join();
    EXPECT_TRUE(fetched.ok()) << fetched.error().message;
    EXPECT_GE(round_trips, 10);
}

}  // namespace
}  // namespace tunefarm::protocol
