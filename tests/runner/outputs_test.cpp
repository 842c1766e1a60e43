// SPDX-License-Identifier: MIT
#include "worker/runner/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/runner/testing.h"

namespace tunefarm::worker {
namespace {

TEST(Outputs, AreRelativePathsWithoutDots) {
    EXPECT_TRUE(is_plain_relative_path("a/b.o"));
    EXPECT_TRUE(is_plain_relative_path("..a"));
    for (const char* path : {"", "/a", "a//b", "a/", "./a", "a/../b", ".."})
        EXPECT_FALSE(is_plain_relative_path(path)) << path;
}

TEST(Outputs, ArePlainFiles) {
    TemporaryDirectory directory;
    ASSERT_TRUE(make_directories(directory.path + "/d").ok());
    ASSERT_EQ(::mkfifo((directory.path + "/fifo").c_str(), 0600), 0);
    EXPECT_FALSE(open_output(directory.path, "d").ok());
    EXPECT_FALSE(open_output(directory.path, "fifo").ok());
    EXPECT_EQ(open_output(directory.path, "absent").error().kind, ErrorKind::kNotFound);
    ASSERT_TRUE(write_file_atomically(directory.path + "/d/file", "x").ok());
    EXPECT_TRUE(open_output(directory.path, "d/file").ok());
}

TEST(Outputs, AreNotLargerThanAnArtifactMayBe) {
    TemporaryDirectory directory;
    const std::string path = directory.path + "/sparse";
    ASSERT_TRUE(write_file_atomically(path, "x").ok());
    ASSERT_EQ(::truncate(path.c_str(), kMaxOutput.count), 0);
    EXPECT_TRUE(open_output(directory.path, "sparse").ok());
    ASSERT_EQ(::truncate(path.c_str(), std::int64_t{1} << 40), 0);
    const auto opened = open_output(directory.path, "sparse");
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find("1099511627776 bytes, more than"), std::string::npos)
        << opened.error().message;
}

}  // namespace
}  // namespace tunefarm::worker
