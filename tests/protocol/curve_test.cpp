// SPDX-License-Identifier: MIT
#include "protocol/curve.h"

#include <gtest/gtest.h>

#include <chrono>

#include "protocol/socket.h"

namespace tunefarm::protocol {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{10000};

class CurveTest : public ::testing::Test {
  protected:
    void start(std::vector<AllowedKey> allowed) {
        auto zap = ZapServer::start(context_, std::move(allowed));
        ASSERT_TRUE(zap.ok()) << zap.error().message;
        zap_ = std::move(zap).value();
        ServerSocket::Options options;
        options.curve = CurveServer{server_keys_.secret_key};
        auto server = ServerSocket::bind(context_, "tcp://127.0.0.1:*", options);
        ASSERT_TRUE(server.ok()) << server.error().message;
        server_.emplace(std::move(server).value());
    }

    ClientSocket client(const KeyPair& keys, const std::string& server_key) {
        ClientSocket::Options options;
        options.curve = CurveClient{server_key, keys};
        options.reconnect_min = milliseconds(20);
        options.linger = milliseconds(0);
        return std::move(ClientSocket::connect(context_, server_->endpoint(), options)).value();
    }

    std::optional<Incoming> receive() {
        const auto deadline = std::chrono::steady_clock::now() + kPatience;
        do {
            if (auto incoming = server_->receive()) return incoming;
            wait({*server_}, milliseconds(50));
        } while (std::chrono::steady_clock::now() < deadline);
        return std::nullopt;
    }

    Context context_;
    KeyPair server_keys_ = *keygen();
    KeyPair known_ = *keygen();
    KeyPair stranger_ = *keygen();
    std::unique_ptr<ZapServer> zap_;
    std::optional<ServerSocket> server_;
};

TEST_F(CurveTest, KeysAreZ85AndThePublicOneFollowsFromTheSecretOne) {
    EXPECT_EQ(known_.public_key.size(), 40U);
    EXPECT_EQ(*public_key_of(known_.secret_key), known_.public_key);
    EXPECT_NE(known_.secret_key, stranger_.secret_key);
    EXPECT_EQ(public_key_of("short").error().kind, ErrorKind::kInput);
    EXPECT_EQ(public_key_of(std::string(40, '"')).error().kind, ErrorKind::kInput);
}

TEST_F(CurveTest, TheRightKeyDeliversWithItsNameAndRole) {
    start({{known_.public_key, "node17", "worker-cpu"}});
    ClientSocket worker = client(known_, server_keys_.public_key);
    EXPECT_EQ(worker.send("hello"), Sent::kSent);
    const auto got = receive();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->payload, "hello");
    EXPECT_EQ(got->user, "node17");
    EXPECT_EQ(got->role, "worker-cpu");
}

TEST_F(CurveTest, AnUnknownKeyNeverDelivers) {
    start({{known_.public_key, "node17", "worker-cpu"}});
    ClientSocket intruder = client(stranger_, server_keys_.public_key);
    EXPECT_EQ(intruder.send("let me in"), Sent::kSent);  // queued on the client's side only
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (zap_->refused() == 0 && std::chrono::steady_clock::now() < deadline) wait({*server_}, milliseconds(5));
    EXPECT_GE(zap_->refused(), 1U);
    ClientSocket worker = client(known_, server_keys_.public_key);
    EXPECT_EQ(worker.send("hello"), Sent::kSent);
    const auto got = receive();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->payload, "hello");
    EXPECT_FALSE(server_->receive());
}

TEST_F(CurveTest, AClientThatExpectsAnotherServerDoesNotSpeakToThisOne) {
    start({{known_.public_key, "node17", "worker-cpu"}});
    ClientSocket lost = client(known_, stranger_.public_key);
    EXPECT_EQ(lost.send("secret"), Sent::kSent);
    ClientSocket worker = client(known_, server_keys_.public_key);
    EXPECT_EQ(worker.send("hello"), Sent::kSent);
    const auto got = receive();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->payload, "hello");
}

TEST_F(CurveTest, AClientWithoutKeysNeverDelivers) {
    start({{known_.public_key, "node17", "worker-cpu"}});
    ClientSocket::Options plain;
    plain.insecure = true;
    plain.linger = milliseconds(0);
    auto intruder = ClientSocket::connect(context_, server_->endpoint(), plain);
    ASSERT_TRUE(intruder.ok());
    EXPECT_EQ(intruder->send("plain"), Sent::kSent);
    ClientSocket worker = client(known_, server_keys_.public_key);
    EXPECT_EQ(worker.send("hello"), Sent::kSent);
    EXPECT_EQ(receive()->payload, "hello");
    EXPECT_FALSE(server_->receive());
}

TEST_F(CurveTest, AKeyAddedLaterIsAcceptedWithoutARestart) {
    start({});
    ASSERT_TRUE(zap_->set_allowed({{stranger_.public_key, "new node", ""}}).ok());
    ClientSocket worker = client(stranger_, server_keys_.public_key);
    EXPECT_EQ(worker.send("hello"), Sent::kSent);
    const auto got = receive();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->user, "new node");
    EXPECT_EQ(got->role, "");
}

TEST_F(CurveTest, CurveWithoutAHandlerIsRefused) {
    ServerSocket::Options options;
    options.curve = CurveServer{server_keys_.secret_key};
    const auto bound = ServerSocket::bind(context_, "tcp://127.0.0.1:*", options);
    ASSERT_FALSE(bound.ok());
    EXPECT_EQ(bound.error().kind, ErrorKind::kInternal);
}

TEST_F(CurveTest, BrokenKeysAreInputErrors) {
    EXPECT_EQ(ZapServer::start(context_, {{"junk", "name", "role"}}).error().kind, ErrorKind::kInput);
    start({});
    ServerSocket::Options options;
    options.curve = CurveServer{"junk"};
    EXPECT_EQ(ServerSocket::bind(context_, "tcp://127.0.0.1:*", options).error().kind, ErrorKind::kInput);
    ClientSocket::Options client_options;
    client_options.curve = CurveClient{"junk", known_};
    EXPECT_EQ(ClientSocket::connect(context_, server_->endpoint(), client_options).error().kind, ErrorKind::kInput);
}

TEST_F(CurveTest, OneContextHasOneHandler) {
    start({});
    EXPECT_FALSE(ZapServer::start(context_, {}).ok());
}

}  // namespace
}  // namespace tunefarm::protocol
