// SPDX-License-Identifier: MIT
#include "worker/runner/process.h"

#include <fcntl.h>

#include "tests/runner/testing.h"

namespace tunefarm::worker {
namespace {

ProcessOptions shell(const std::string& script) {
    ProcessOptions options;
    options.command = {"sh", "-c", script};
    options.environment = clean_environment("/tmp", {{"EXTRA", "1"}});
    return options;
}

TEST(Process, GivesTheChildACleanEnvironment) {
    ::setenv("TUNEFARM_TEST_SECRET", "x", 1);
    const auto text = run_and_capture(shell("env"), Micros{10'000'000});
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(text->find("TUNEFARM_TEST_SECRET"), std::string::npos);
    EXPECT_NE(text->find("EXTRA=1"), std::string::npos);
    EXPECT_NE(text->find("LANG=C.UTF-8"), std::string::npos);
}

TEST(Process, LeaksNoDescriptors) {
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd leak(::fcntl(null.get(), F_DUPFD, 57));  // deliberately without O_CLOEXEC
    const std::string fd = "/proc/$$/fd/" + std::to_string(leak.get());
    const auto text = run_and_capture(shell("test -e " + fd + " && echo leaked || echo clean"), Micros{10'000'000});
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, "clean\n");
}

TEST(Process, DescribesHowTheChildEnded) {
    const auto failed = run_and_capture(shell("echo why; exit 7"), Micros{10'000'000});
    ASSERT_FALSE(failed.ok());
    EXPECT_NE(failed.error().message.find("exited with 7: why"), std::string::npos) << failed.error().message;
    const auto killed = run_and_capture(shell("kill -SEGV $$"), Micros{10'000'000});
    ASSERT_FALSE(killed.ok());
    EXPECT_NE(killed.error().message.find("SIGSEGV"), std::string::npos) << killed.error().message;
}

TEST(Process, LimitsFileSizes) {
    ProcessOptions options = shell("head -c 2000000 /dev/zero > big");
    TemporaryDirectory directory;
    options.directory = directory.path;
    options.file_size_limit = Bytes{1 << 20};
    EXPECT_FALSE(run_and_capture(options, Micros{10'000'000}).ok());
}

TEST(Process, MakesTheLogValidUtf8) {
    const auto text = run_and_capture(shell("printf 'a\\377b\\303'"), Micros{10'000'000});
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, "a?b?");
}

TEST(Process, KillsAGroupThatOutlivesItsLeader) {
    {
        auto process = Process::start(shell("sleep 62 & sleep 62 & exit 0"));
        ASSERT_TRUE(process.ok());
        EXPECT_TRUE((*process)->wait(Micros{10'000'000}));
    }
    for (const ProcessInfo& info : list_processes()) {
        EXPECT_NE(info.parent, ::getpid());
    }
}

}  // namespace
}  // namespace tunefarm::worker
