// SPDX-License-Identifier: MIT
#include "worker/runner/outputs.h"

#include <sys/stat.h>

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

}  // namespace
}  // namespace tunefarm::worker
