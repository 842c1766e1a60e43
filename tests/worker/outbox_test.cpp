// SPDX-License-Identifier: MIT
#include "worker/agent/outbox.h"

#include <fstream>

#include "protocol/codec.h"
#include "tests/runner/testing.h"

namespace tunefarm::worker {
namespace {

Outbox::Entry entry(std::int64_t action) {
    protocol::AttemptResult result;
    result.key = {ActionId{action}, 1};
    result.result = "{}";
    return {result.key, {protocol::encode(protocol::FromWorker(result))}};
}

TEST(Outbox, KeepsWhatIsNotAcknowledgedOverARestart) {
    TemporaryDirectory directory;
    {
        auto outbox = Outbox::open(directory.path).value();
        ASSERT_TRUE(outbox->add({entry(1), entry(2), entry(3)}).ok());
        outbox->acknowledge({entry(2).key, entry(9).key});
    }
    // Acknowledgements are not written: what was acknowledged may come again, and is answered as stale.
    auto outbox = Outbox::open(directory.path).value();
    EXPECT_EQ(outbox->pending(), 3U);
    const auto unsent = outbox->take_unsent(10);
    ASSERT_EQ(unsent.size(), 3U);
    EXPECT_EQ(unsent[0]->frames, entry(1).frames);
    EXPECT_TRUE(outbox->take_unsent(10).empty());
    outbox->reset();
    EXPECT_EQ(outbox->take_unsent(2).size(), 2U);
}

TEST(Outbox, DropsATornRecordAtTheEnd) {
    TemporaryDirectory directory;
    {
        ASSERT_TRUE(Outbox::open(directory.path).value()->add({entry(1), entry(2)}).ok());
    }
    const std::string path = directory.path + "/results";
    const std::string content = read_file(path, 1 << 20).value();
    std::ofstream(path, std::ios::trunc | std::ios::binary) << content.substr(0, content.size() - 3);
    auto outbox = Outbox::open(directory.path).value();
    EXPECT_EQ(outbox->pending(), 1U);
    ASSERT_TRUE(outbox->add({entry(3)}).ok());
    outbox.reset();
    EXPECT_EQ(Outbox::open(directory.path).value()->pending(), 2U);
}

TEST(Outbox, IsEmptyOnDiskOnceEverythingIsAcknowledged) {
    TemporaryDirectory directory;
    auto outbox = Outbox::open(directory.path).value();
    ASSERT_TRUE(outbox->add({entry(1)}).ok());
    outbox->acknowledge({entry(1).key});
    EXPECT_EQ(read_file(directory.path + "/results", 1 << 20).value(), "");
}

}  // namespace
}  // namespace tunefarm::worker
