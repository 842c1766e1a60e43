// SPDX-License-Identifier: MIT
#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include <filesystem>

namespace tunefarm {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
  protected:
    void SetUp() override {
        auto made = make_temporary_directory(testing::TempDir() + "files");
        ASSERT_TRUE(made.ok());
        folder_ = *made;
    }
    void TearDown() override { EXPECT_TRUE(remove_tree(folder_).ok()); }
    std::string at(const std::string& name) const { return folder_ + "/" + name; }
    std::string content(const std::string& name) const {
        const auto read = read_file(at(name), 1 << 20);
        return read.ok() ? *read : "<" + read.error().message + ">";
    }
    mode_t mode(const std::string& path) const {
        struct stat info{};
        return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
    }
    ErrorKind kind_of_read(const std::string& path, std::int64_t limit = 1 << 20) const {
        const auto read = read_file(path, limit);
        EXPECT_FALSE(read.ok()) << path;
        return read.ok() ? ErrorKind::kInternal : read.error().kind;
    }

    std::string folder_;
};

TEST_F(Files, AtomicWriteCreatesReplacesAndLeavesNoTemporary) {
    ASSERT_TRUE(write_file_atomically(at("a"), "first").ok());
    EXPECT_EQ(content("a"), "first");
    ASSERT_TRUE(write_file_atomically(at("a"), std::string("second\0half", 11)).ok());
    EXPECT_EQ(content("a"), std::string("second\0half", 11));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(Files, AtomicWriteSetsTheMode) {
    ASSERT_TRUE(write_file_atomically(at("secret"), "key", 0600).ok());
    EXPECT_EQ(mode(at("secret")), 0600u);
}

TEST_F(Files, FailedAtomicWriteKeepsTheOldContent) {
    ASSERT_TRUE(make_directories(at("target/inside")).ok());
    EXPECT_FALSE(write_file_atomically(at("target"), "x").ok()) << "a directory cannot be replaced by a file";
    EXPECT_TRUE(fs::is_directory(at("target/inside")));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "the temporary file is removed";
    const Status nowhere = write_file_atomically(at("missing/file"), "x");
    ASSERT_FALSE(nowhere.ok());
    EXPECT_EQ(nowhere.error().kind, ErrorKind::kNotFound);
}

TEST_F(Files, ReadRefusesWhatIsNotARegularFile) {
    EXPECT_EQ(kind_of_read(folder_), ErrorKind::kInput);
    EXPECT_EQ(kind_of_read(at("missing")), ErrorKind::kNotFound);
    EXPECT_EQ(kind_of_read("/dev/zero"), ErrorKind::kInput);
    ASSERT_EQ(::mkfifo(at("fifo").c_str(), 0600), 0);
    EXPECT_EQ(kind_of_read(at("fifo")), ErrorKind::kInput) << "and does not wait for a writer";
}

TEST_F(Files, ReadObeysItsLimitExactly) {
    ASSERT_TRUE(write_file_atomically(at("ten"), "0123456789").ok());
    const auto fits = read_file(at("ten"), 10);
    ASSERT_TRUE(fits.ok());
    EXPECT_EQ(*fits, "0123456789");
    EXPECT_EQ(kind_of_read(at("ten"), 9), ErrorKind::kInput);
    const auto refused = read_file(at("ten"), 9);
    EXPECT_NE(refused.error().message.find("the limit is 9"), std::string::npos) << refused.error().message;
}

TEST_F(Files, DirectoriesAreMadeAtAnyDepthAndTwice) {
    ASSERT_TRUE(make_directories(at("a/b/c")).ok());
    ASSERT_TRUE(make_directories(at("a/b/c")).ok());
    ASSERT_TRUE(make_directories(at("a/b/d/")).ok());
    EXPECT_TRUE(fs::is_directory(at("a/b/d")));
    ASSERT_TRUE(write_file_atomically(at("a/file"), "").ok());
    EXPECT_FALSE(make_directories(at("a/file")).ok());
    EXPECT_FALSE(make_directories(at("a/file/below")).ok());
}

TEST_F(Files, RemovingATreeDoesNotFollowLinks) {
    ASSERT_TRUE(make_directories(at("keep")).ok());
    ASSERT_TRUE(write_file_atomically(at("keep/file"), "kept").ok());
    ASSERT_TRUE(make_directories(at("gone/deep")).ok());
    fs::create_directory_symlink(at("keep"), at("gone/deep/link"));
    ASSERT_TRUE(remove_tree(at("gone")).ok());
    EXPECT_FALSE(fs::exists(at("gone")));
    EXPECT_EQ(content("keep/file"), "kept");
    EXPECT_TRUE(remove_tree(at("gone")).ok()) << "a missing path is fine";
}

TEST_F(Files, TemporaryDirectoriesArePrivateAndDistinct) {
    const auto first = make_temporary_directory(at("t"));
    const auto second = make_temporary_directory(at("t"));
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_NE(*first, *second);
    EXPECT_EQ(mode(*first), 0700u);
    EXPECT_FALSE(make_temporary_directory(at("missing/t")).ok());
}

TEST_F(Files, WriteAllReportsAClosedReader) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd writer(ends[1]);
    {
        const UniqueFd reader(ends[0]);
        ASSERT_TRUE(write_all(writer.get(), "hello").ok());
        char buffer[8];
        EXPECT_EQ(::read(reader.get(), buffer, sizeof buffer), 5);
    }
    const auto old = ::signal(SIGPIPE, SIG_IGN);
    EXPECT_FALSE(write_all(writer.get(), "nobody").ok());
    ::signal(SIGPIPE, old);
}

TEST_F(Files, SyncingWhatIsNoDirectoryFails) {
    EXPECT_TRUE(sync_directory(folder_).ok());
    ASSERT_TRUE(write_file_atomically(at("a"), "").ok());
    EXPECT_FALSE(sync_directory(at("a")).ok());
}

TEST_F(Files, UniqueFdClosesExactlyOnce) {
    const int raw = ::open(folder_.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(raw, 0);
    {
        UniqueFd first(raw);
        UniqueFd second(std::move(first));
        EXPECT_FALSE(first.valid());
        EXPECT_EQ(second.get(), raw);
        UniqueFd third;
        third = std::move(second);
        EXPECT_NE(::fcntl(raw, F_GETFD), -1);
    }
    EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
}

TEST_F(Files, DurableDirectoriesAreMadeLikeOthers) {
    for (const char* path : {"a/b/c", "a/b/c/", "d/", "a", "e/../f"}) {
        EXPECT_TRUE(make_durable_directories(at(path)).ok()) << path;
        EXPECT_TRUE(std::filesystem::is_directory(at(path))) << path;
    }
    EXPECT_TRUE(write_file_atomically(at("file"), "x").ok());
    EXPECT_FALSE(make_durable_directories(at("file/below")).ok());
}

}  // namespace
}  // namespace tunefarm
