// SPDX-License-Identifier: MIT
#include "worker/agent/content_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/runner/testing.h"

namespace tunefarm::worker {
namespace {

class ContentStoreTest : public ::testing::Test {
  protected:
    ContentStoreTest() : store_(ContentStore::open(directory_.path + "/cache", Bytes{1 << 20}).value()) {}
    Digest add(const std::string& content) {
        const std::string path = directory_.path + "/source";
        std::ofstream(path) << content;
        const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        return store_->ingest(fd).value().digest;
    }
    /// As something that runs as the same user can do by mistake, keeping the size.
    void damage(const Digest& digest) {
        const std::string path = store_->path_of(digest);
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        std::fstream file(path, std::ios::in | std::ios::out);
        file.put('X');
    }
    TemporaryDirectory directory_;
    std::unique_ptr<ContentStore> store_;
};

TEST_F(ContentStoreTest, WhatWasNotTouchedStaysPinnable) {
    const Digest digest = add("content");
    EXPECT_TRUE(store_->intact(digest));
    EXPECT_TRUE(store_->pin(digest));
    std::filesystem::create_hard_link(store_->path_of(digest), directory_.path + "/link");
    EXPECT_TRUE(store_->intact(digest)) << "a link, as staging makes them, is no change";
}

TEST_F(ContentStoreTest, ChangedBytesAreNoticedAndGone) {
    const Digest digest = add("content");
    damage(digest);
    EXPECT_FALSE(store_->intact(digest)) << "a task that has it pinned does not run with it";
    EXPECT_FALSE(store_->pin(digest));
    EXPECT_FALSE(std::filesystem::exists(store_->path_of(digest))) << "it is fetched again";
    EXPECT_EQ(add("content"), digest);
    EXPECT_TRUE(store_->intact(digest));
    EXPECT_TRUE(store_->pin(digest));
}

TEST_F(ContentStoreTest, ARemovedFileIsNoticed) {
    const Digest digest = add("content");
    store_->unpin(digest);
    std::filesystem::remove(store_->path_of(digest));
    EXPECT_FALSE(store_->intact(digest));
    EXPECT_FALSE(store_->pin(digest));
}

TEST_F(ContentStoreTest, TheSameBytesWrittenAgainAreAccepted) {
    const Digest digest = add("content");
    std::filesystem::remove(store_->path_of(digest));
    std::ofstream(store_->path_of(digest)) << "content";
    EXPECT_FALSE(store_->intact(digest)) << "not known yet";
    EXPECT_TRUE(store_->pin(digest)) << "checked";
    EXPECT_TRUE(store_->intact(digest));
}

}  // namespace
}  // namespace tunefarm::worker
