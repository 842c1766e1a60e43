// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "tests/protocol/transfer_fixture.h"

namespace tunefarm::protocol {
namespace {

class FetchTest : public TransferTest {};

TEST_F(FetchTest, WritesTheWholeFileAndLeavesNothingElse) {
    const std::string bytes = noise(123457);
    const Digest digest = backend_.add(bytes);
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    const Status fetched = client.fetch_file(digest, bytes.size(), path("got"));
    ASSERT_TRUE(fetched.ok()) << fetched.error().message;
    EXPECT_TRUE(content("got") == bytes);
    EXPECT_FALSE(std::filesystem::exists(part_of("got", digest)));
    EXPECT_EQ(client.counters().bytes_in, bytes.size());
}

TEST_F(FetchTest, EmptyAndOneByteArtifactsAreArtifacts) {
    const Digest one = backend_.add("x");
    const Digest none = backend_.add("");
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    EXPECT_EQ(*client.fetch_bytes(one, 1), "x");
    EXPECT_EQ(*client.fetch_bytes(none, 0), "");
    ASSERT_TRUE(client.fetch_file(none, 0, path("empty")).ok());
    EXPECT_EQ(content("empty"), "");
}

TEST_F(FetchTest, WhatTheServerDoesNotHoldIsNotFoundAndLeavesNoFile) {
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    const Digest digest = sha256("never stored");
    const Status fetched = client.fetch_file(digest, 12, path("got"));
    ASSERT_FALSE(fetched.ok());
    EXPECT_EQ(fetched.error().kind, ErrorKind::kNotFound);
    EXPECT_FALSE(std::filesystem::exists(path("got")));
    EXPECT_FALSE(std::filesystem::exists(part_of("got", digest)));
}

TEST_F(FetchTest, ContinuesWhenTheServerRestartsInTheMiddle) {
    const std::string bytes = noise(200'000);
    const Digest digest = backend_.add(bytes);
    Gate gate;
    backend_.on_read = [&](int number) {
        if (number >= 50) gate.arrive();
    };
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    Status fetched;
    std::thread fetching([&] { fetched = client.fetch_file(digest, bytes.size(), path("got")); });
    gate.wait_until_reached();
    server_.reset();
    EXPECT_LT(backend_.bytes_read(), bytes.size());
    gate.open();
    serve();
    fetching.join();
    ASSERT_TRUE(fetched.ok()) << fetched.error().message;
    EXPECT_TRUE(content("got") == bytes);
    EXPECT_LT(backend_.bytes_read(), bytes.size() + 50'000) << "began again instead of going on";
}

TEST_F(FetchTest, ALaterCallContinuesThePartialFile) {
    const std::string bytes = noise(100'000);
    const Digest digest = backend_.add(bytes);
    std::atomic<bool> stop{false};
    backend_.on_read = [&](int number) {
        if (number == 30) stop = true;
    };
    serve();
    {
        ArtifactClient::Options options = small_chunks();
        options.stop = &stop;
        ArtifactClient client(context_, endpoint_, options);
        const Status fetched = client.fetch_file(digest, bytes.size(), path("got"));
        ASSERT_FALSE(fetched.ok());
        EXPECT_EQ(fetched.error().kind, ErrorKind::kCancelled);
    }
    EXPECT_FALSE(std::filesystem::exists(path("got")));
    EXPECT_TRUE(std::filesystem::exists(part_of("got", digest)));
    ArtifactClient client(context_, endpoint_, small_chunks());
    ASSERT_TRUE(client.fetch_file(digest, bytes.size(), path("got")).ok());
    EXPECT_TRUE(content("got") == bytes);
    EXPECT_LT(client.counters().bytes_in, bytes.size());
}

TEST_F(FetchTest, ADamagedPartialFileIsFetchedAgain) {
    const std::string bytes = noise(20'000);
    const Digest digest = backend_.add(bytes);
    serve();
    ASSERT_TRUE(write_file_atomically(part_of("got", digest), "not the beginning of it").ok());
    ArtifactClient client(context_, endpoint_, small_chunks());
    const Status fetched = client.fetch_file(digest, bytes.size(), path("got"));
    ASSERT_TRUE(fetched.ok()) << fetched.error().message;
    EXPECT_TRUE(content("got") == bytes);
}

TEST_F(FetchTest, APartialFileLongerThanTheArtifactIsFetchedAgain) {
    const std::string bytes = noise(2000);
    const Digest digest = backend_.add(bytes);
    serve();
    ASSERT_TRUE(write_file_atomically(part_of("got", digest), noise(5000, 2)).ok());
    ArtifactClient client(context_, endpoint_, small_chunks());
    ASSERT_TRUE(client.fetch_file(digest, bytes.size(), path("got")).ok());
    EXPECT_TRUE(content("got") == bytes);
}

TEST_F(FetchTest, OneDamagedChunkIsRepaired) {
    const std::string bytes = noise(20'000);
    const Digest digest = backend_.add(bytes);
    int reads = 0;
    backend_.damage = [&](std::string& chunk) {
        if (++reads == 7) chunk[3] = static_cast<char>(chunk[3] ^ 1);
    };
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    ASSERT_TRUE(client.fetch_file(digest, bytes.size(), path("got")).ok());
    EXPECT_TRUE(content("got") == bytes);
}

TEST_F(FetchTest, ContentThatStaysDamagedIsCorruption) {
    const std::string bytes = noise(20'000);
    const Digest digest = backend_.add(bytes);
    backend_.damage = [](std::string& chunk) { chunk[3] = static_cast<char>(chunk[3] ^ 1); };
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    const Status fetched = client.fetch_file(digest, bytes.size(), path("got"));
    ASSERT_FALSE(fetched.ok());
    EXPECT_EQ(fetched.error().kind, ErrorKind::kCorruption);
    EXPECT_FALSE(std::filesystem::exists(path("got")));
    EXPECT_EQ(client.fetch_bytes(digest, bytes.size()).error().kind, ErrorKind::kCorruption);
}

TEST_F(FetchTest, AnotherSizeThanAnnouncedIsCorruption) {
    const Digest digest = backend_.add("four");
    serve();
    ArtifactClient client(context_, endpoint_, small_chunks());
    EXPECT_EQ(client.fetch_bytes(digest, 5).error().kind, ErrorKind::kCorruption);
    EXPECT_EQ(client.fetch_bytes(digest, 3).error().kind, ErrorKind::kCorruption);
}

TEST_F(FetchTest, AStoreThatFailsIsReportedWithItsKind) {
    class Broken : public MemoryBackend {
        Result<std::string> read(const Digest&, std::uint64_t, std::uint32_t) override {
            return Error{ErrorKind::kIo, "bad sector"};
        }
    } broken;
    const Digest digest = broken.add("abc");
    auto server = ArtifactServer::start(context_, "ipc://" + dir_ + "/b", broken, {});
    ASSERT_TRUE(server.ok());
    ArtifactClient client(context_, (*server)->endpoint(), small_chunks());
    const auto fetched = client.fetch_bytes(digest, 3);
    ASSERT_FALSE(fetched.ok());
    EXPECT_EQ(fetched.error().kind, ErrorKind::kIo);
    EXPECT_NE(fetched.error().message.find("bad sector"), std::string::npos);
}

TEST_F(FetchTest, NeverWritesThroughASymbolicLink) {
    const Digest digest = backend_.add("content");
    serve();
    ASSERT_TRUE(write_file_atomically(path("victim"), "precious").ok());
    ASSERT_EQ(::symlink(path("victim").c_str(), part_of("got", digest).c_str()), 0);
    ASSERT_EQ(::symlink(path("victim").c_str(), path("link").c_str()), 0);
    ArtifactClient client(context_, endpoint_, small_chunks());
    EXPECT_FALSE(client.fetch_file(digest, 7, path("got")).ok());
    // A link at the destination itself is replaced, not followed.
    EXPECT_TRUE(client.fetch_file(digest, 7, path("link")).ok());
    EXPECT_EQ(content("victim"), "precious");
    EXPECT_FALSE(std::filesystem::is_symlink(path("link")));
}

TEST_F(FetchTest, AFifoInPlaceOfThePartialFileIsRefused) {
    const Digest digest = backend_.add("content");
    serve();
    ASSERT_EQ(::mkfifo(part_of("got", digest).c_str(), 0600), 0);
    ArtifactClient client(context_, endpoint_, small_chunks());
    EXPECT_FALSE(client.fetch_file(digest, 7, path("got")).ok());
}

TEST_F(FetchTest, GivesUpWhenNobodyAnswers) {
    ArtifactClient::Options options = small_chunks();
    options.silence = milliseconds(30);
    options.give_up = milliseconds(100);
    ArtifactClient client(context_, "ipc://" + dir_ + "/nobody", options);
    const auto fetched = client.fetch_bytes(sha256("x"), 1);
    ASSERT_FALSE(fetched.ok());
    EXPECT_EQ(fetched.error().kind, ErrorKind::kUnavailable);
    EXPECT_GE(client.counters().sockets, 2U) << "a silent server must be tried on a new socket";
}

TEST_F(FetchTest, AStopFlagEndsTheWait) {
    std::atomic<bool> stop{false};
    ArtifactClient::Options options = small_chunks();
    options.stop = &stop;
    ArtifactClient client(context_, "ipc://" + dir_ + "/nobody", options);
    std::thread stopping([&] { stop = true; });
    EXPECT_EQ(client.fetch_bytes(sha256("x"), 1).error().kind, ErrorKind::kCancelled);
    stopping.join();
}

}  // namespace
}  // namespace tunefarm::protocol
