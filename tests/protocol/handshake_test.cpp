// SPDX-License-Identifier: MIT
// Connections that end within their handshake: counted by the server, explained to the client, delivered to nobody.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <vector>

#include "base/files.h"
#include "protocol/curve.h"
#include "protocol/socket.h"

namespace tunefarm::protocol {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience{15000};

class HandshakeTest : public ::testing::Test {
  protected:
    void SetUp() override {
        zap_ = std::move(ZapServer::start(context_, {{known_.public_key, "node17", "worker"}})).value();
        ServerSocket::Options options;
        options.curve = CurveServer{farm_.secret_key};
        server_.emplace(std::move(ServerSocket::bind(context_, "tcp://127.0.0.1:*", options)).value());
    }

    ClientSocket client(const std::optional<CurveClient>& curve) {
        ClientSocket::Options options;
        options.curve = curve;
        options.insecure = !curve;
        options.reconnect_min = milliseconds(20);
        options.linger = milliseconds(0);
        return std::move(ClientSocket::connect(context_, server_->endpoint(), options)).value();
    }

    /// A TCP connection that says `bytes` and hears out what the server has to say.
    void raw_connection(const std::string& bytes) {
        const std::string endpoint = server_->endpoint();
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
        const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        ASSERT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        if (!bytes.empty()) {
            ASSERT_GT(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
        }
    }

    /// Serves until `condition`; whatever is delivered meanwhile is a failure.
    bool serve_until(const std::function<bool()>& condition) {
        const auto limit = std::chrono::steady_clock::now() + kPatience;
        while (!condition()) {
            if (std::chrono::steady_clock::now() > limit) return false;
            if (const auto incoming = server_->receive()) ADD_FAILURE() << "delivered: " << incoming->payload;
            wait({*server_}, milliseconds(5));
        }
        return true;
    }

    /// Why `socket` is refused, in the words that its user sees.
    ClientSocket::Refusal refusal(ClientSocket& socket) {
        EXPECT_EQ(socket.send("let me in"), Sent::kSent);
        std::optional<ClientSocket::Refusal> seen;
        EXPECT_TRUE(serve_until([&] {
            if (!seen) seen = socket.refusal();
            return seen.has_value();
        }));
        return seen.value_or(ClientSocket::Refusal{});
    }

    void expect_still_serving() {
        ClientSocket worker = client(CurveClient{farm_.public_key, known_});
        EXPECT_EQ(worker.send("hello"), Sent::kSent);
        const auto limit = std::chrono::steady_clock::now() + kPatience;
        std::optional<Incoming> got;
        while (!(got = server_->receive()) && std::chrono::steady_clock::now() < limit) {
            wait({*server_}, milliseconds(50));
        }
        ASSERT_TRUE(got);
        EXPECT_EQ(got->payload, "hello");
        EXPECT_EQ(got->user, "node17");
        EXPECT_FALSE(worker.refusal());
    }

    Context context_;
    KeyPair farm_ = *keygen();
    KeyPair known_ = *keygen();
    KeyPair stranger_ = *keygen();
    std::unique_ptr<ZapServer> zap_;
    std::optional<ServerSocket> server_;
};

TEST_F(HandshakeTest, AnUnknownKeyIsToldSo) {
    ClientSocket intruder = client(CurveClient{farm_.public_key, stranger_});
    EXPECT_TRUE(refusal(intruder).key_refused);
    EXPECT_TRUE(serve_until([&] { return server_->failed_handshakes() >= 1; }));
    EXPECT_EQ(zap_->refused(), 1U) << "a refused key is not tried again on the same socket";
    expect_still_serving();
}

TEST_F(HandshakeTest, AClientWithoutKeysIsToldThatKeysAreUsed) {
    ClientSocket intruder = client(std::nullopt);
    const auto why = refusal(intruder);
    EXPECT_FALSE(why.key_refused);
    EXPECT_EQ(why.reason, "one side uses keys, the other none");
    EXPECT_TRUE(serve_until([&] { return server_->failed_handshakes() >= 1; }));
    expect_still_serving();
}

TEST_F(HandshakeTest, AClientThatExpectsAnotherCoordinatorIsNotServed) {
    ClientSocket lost = client(CurveClient{stranger_.public_key, known_});
    EXPECT_EQ(lost.send("secret"), Sent::kSent);
    EXPECT_TRUE(serve_until([&] { return server_->failed_handshakes() >= 1; }));
    EXPECT_EQ(zap_->refused(), 0U) << "it does not get as far as the list";
    expect_still_serving();
}

TEST_F(HandshakeTest, AClientWithKeysIsNotServedByAServerWithout) {
    ServerSocket::Options plain;
    plain.insecure = true;
    server_.emplace(std::move(ServerSocket::bind(context_, "tcp://127.0.0.1:*", plain)).value());
    ClientSocket honest = client(CurveClient{farm_.public_key, known_});
    EXPECT_EQ(refusal(honest).reason, "one side uses keys, the other none");
}

TEST_F(HandshakeTest, PortScansAndGarbageAreCountedAndHarmNobody) {
    const std::string greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0CURVE", 17);
    const std::vector<std::string> strangers{
        "",                                             // a port scan
        std::string(5000, '\xff'),                      // noise
        greeting,                                       // a greeting that ends early
        greeting + std::string(47, '\0') + "\x04\xff",  // a whole one, then noise
    };
    // ZeroMQ drops what does not begin like its own protocol without a word, so nobody counts it.
    raw_connection("GET / HTTP/1.1\r\nHost: farm\r\n\r\n");
    for (std::size_t i = 0; i < strangers.size(); ++i) {
        raw_connection(strangers[i]);
        EXPECT_TRUE(serve_until([&] { return server_->failed_handshakes() > i; })) << i;
    }
    EXPECT_EQ(zap_->refused(), 0U);
    expect_still_serving();
}

}  // namespace
}  // namespace tunefarm::protocol
