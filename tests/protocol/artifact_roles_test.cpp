// SPDX-License-Identifier: MIT
// What a key's role lets it do on the artifact socket.
#include "protocol/curve.h"
#include "tests/protocol/transfer_fixture.h"

namespace tunefarm::protocol {
namespace {

class ArtifactRolesTest : public TransferTest {
  protected:
    void SetUp() override {
        TransferTest::SetUp();
        for (const char* role : {"worker", "client", "admin", ""}) keys_[role] = *keygen();
        std::vector<AllowedKey> allowed;
        for (const auto& [role, key] : keys_) allowed.push_back({key.public_key, "the " + role, role});
        zap_ = std::move(ZapServer::start(context_, allowed)).value();
        server_options_.socket.curve = CurveServer{farm_.secret_key};
        serve("tcp://127.0.0.1:*");
    }
    void TearDown() override {
        TransferTest::TearDown();
        zap_.reset();
    }

    std::unique_ptr<ArtifactClient> with_role(const std::string& role) {
        ArtifactClient::Options options = small_chunks();
        options.socket.insecure = false;
        options.socket.curve = CurveClient{farm_.public_key, keys_.at(role)};
        return std::make_unique<ArtifactClient>(context_, endpoint_, options);
    }
    void expect_refused(const Status& status, const std::string& words) {
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().kind, ErrorKind::kUnsupported);
        EXPECT_NE(status.error().message.find(words), std::string::npos) << status.error().message;
    }

    KeyPair farm_ = *keygen();
    std::map<std::string, KeyPair> keys_;
    std::unique_ptr<ZapServer> zap_;
};

TEST_F(ArtifactRolesTest, AWorkerStoresAndFetches) {
    const std::string bytes = noise(5000);
    auto worker = with_role("worker");
    const Status put = worker->put_all({local(bytes)});
    ASSERT_TRUE(put.ok()) << put.error().message;
    EXPECT_TRUE(backend_.holds(sha256(bytes)));
    const auto fetched = worker->fetch_bytes(sha256(bytes), bytes.size());
    ASSERT_TRUE(fetched.ok()) << fetched.error().message;
    EXPECT_EQ(*fetched, bytes);
}

TEST_F(ArtifactRolesTest, WhoSubmitsStoresButDoesNotFetch) {
    const std::string secret = noise(3000, 7);
    backend_.add(secret);
    for (const char* role : {"client", "admin"}) {
        const std::string config = std::string("from a ") + role;
        const Status put = with_role(role)->put_all({local(config)});
        EXPECT_TRUE(put.ok()) << role << ": " << put.error().message;
        EXPECT_TRUE(backend_.holds(sha256(config)));
        const auto fetched = with_role(role)->fetch_bytes(sha256(secret), secret.size());
        ASSERT_FALSE(fetched.ok()) << role;
        expect_refused(Status(fetched.error()), "may not fetch artifacts");
    }
    EXPECT_EQ(backend_.bytes_read(), 0U);
    EXPECT_GE(server_->counters().refused, 2U);
}

TEST_F(ArtifactRolesTest, AKeyWithoutARoleMayDoNothing) {
    const std::string bytes = noise(3000);
    expect_refused(with_role("")->put_all({local(bytes)}), "may not store artifacts");
    EXPECT_FALSE(backend_.holds(sha256(bytes)));
    backend_.add(bytes);
    const auto fetched = with_role("")->fetch_bytes(sha256(bytes), bytes.size());
    ASSERT_FALSE(fetched.ok());
    expect_refused(Status(fetched.error()), "may not fetch artifacts");
}

}  // namespace
}  // namespace tunefarm::protocol
