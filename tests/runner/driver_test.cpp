// SPDX-License-Identifier: MIT
#include "worker/runner/driver.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "tests/runner/testing.h"
#include "worker/runner/outputs.h"

namespace tunefarm::worker {
namespace {

class DriverTest : public testing::Test {
  protected:
    static void SetUpTestSuite() { ASSERT_TRUE(become_subreaper().ok()); }
    void TearDown() override {
        driver_.reset();
        EXPECT_EQ(children_left(), std::vector<pid_t>{});
    }

    DriverOptions options(const std::string& mode) {
        return python_driver("bad", "/tests/runner/drivers/misbehaving.py", directory_.path, mode);
    }
    Status start(const std::string& mode) { return start(options(mode)); }
    Status start(DriverOptions driver_options) {
        driver_ = std::make_unique<Driver>(std::move(driver_options));
        return driver_->start();
    }
    DriverReply run() {
        request_.verb = "build";
        request_.target = "none";
        request_.dir = directory_.path + "/out";
        EXPECT_TRUE(make_directories(request_.dir).ok());
        DriverCallbacks callbacks;
        callbacks.row = [this](std::string row) {
            rows_.push_back(std::move(row));
            return true;
        };
        return driver_->run(request_, token_, callbacks);
    }

    TemporaryDirectory directory_;
    std::unique_ptr<Driver> driver_;
    DriverRequest request_;
    CancelToken token_;
    std::vector<std::string> rows_;
};

TEST_F(DriverTest, SaysWhyADriverThatDiesAtStartDied) {
    const Status status = start("dies-at-start");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kUnavailable);
    EXPECT_NE(status.error().message.find("exited with 3"), std::string::npos) << status.error().message;
    EXPECT_NE(status.error().message.find("cannot find the compiler"), std::string::npos) << status.error().message;
}

TEST_F(DriverTest, NamesAProgramThatDoesNotExist) {
    DriverOptions missing = options("ok");
    missing.command = {"/nowhere/driver"};
    const Status status = start(missing);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kNotFound);
    EXPECT_NE(status.error().message.find("/nowhere/driver"), std::string::npos);
}

TEST_F(DriverTest, KillsADriverThatSaysNoHello) {
    DriverOptions slow = options("no-hello");
    slow.hello_limit = Micros{100'000};
    const Status status = start(slow);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kTimeout);
}

TEST_F(DriverTest, ItsOwnLimitOfSilenceCountsFromTheLastRow) {
    ASSERT_TRUE(start("silence").ok());
    const DriverReply reply = run();
    EXPECT_EQ(reply.outcome, Outcome::kTimedOut);
    EXPECT_EQ(rows_.size(), 10U) << "half a second of rows is no silence";
    EXPECT_NE(reply.message.find("told nothing for 200 ms"), std::string::npos) << reply.message;
}

TEST_F(DriverTest, ItsOwnMemoryLimitTightensTheRequests) {
    ASSERT_TRUE(start("greedy").ok());
    EXPECT_EQ(driver_->hello().limits.idle_memory.count, 32 << 20);
    request_.memory_limit = Bytes{std::int64_t{1} << 34};
    const DriverReply reply = run();
    EXPECT_EQ(reply.outcome, Outcome::kOutOfMemory);
    EXPECT_NE(reply.message.find("64 MiB"), std::string::npos) << reply.message;
}

TEST_F(DriverTest, RefusesLimitsThatAreNone) {
    const Status status = start("bad-limits");
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("'limits'"), std::string::npos) << status.error().message;
}

TEST_F(DriverTest, RefusesAHelloThatIsNoJson) {
    const Status status = start("garbage-hello");
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::kCorruption);
    EXPECT_NE(status.error().message.find("hello?"), std::string::npos);
}

TEST_F(DriverTest, RefusesTheHelloOfAnotherToolchain) {
    DriverOptions other = options("ok");
    other.toolchain = "good";
    EXPECT_FALSE(start(other).ok());
}

TEST_F(DriverTest, ServesManyRequestsWithOneProcess) {
    ASSERT_TRUE(start("ok").ok());
    const DriverReply first = run();
    const DriverReply second = run();
    EXPECT_EQ(first.outcome, Outcome::kOk) << first.message;
    EXPECT_EQ(first.result, second.result);
    EXPECT_FALSE(second.driver_lost);
    EXPECT_GT(first.peak_memory.count, 1 << 20);
}

TEST_F(DriverTest, KeepsRowsAndLogOfADriverThatDies) {
    ASSERT_TRUE(start("dies").ok());
    const DriverReply reply = run();
    EXPECT_EQ(reply.outcome, Outcome::kCrashed);
    EXPECT_TRUE(reply.driver_lost);
    EXPECT_FALSE(driver_->running());
    EXPECT_NE(reply.message.find("SIGABRT"), std::string::npos) << reply.message;
    EXPECT_NE(reply.log.find("about to die"), std::string::npos) << reply.log;
    EXPECT_EQ(rows_, std::vector<std::string>{"{\"n\":1}"});
    EXPECT_TRUE(driver_->start().ok());  // the next request gets a fresh one
}

TEST_F(DriverTest, KillsWhatPassesItsTimeLimitWithItsChildren) {
    ASSERT_TRUE(start("hangs").ok());
    request_.time_limit = Micros{200'000};
    const DriverReply reply = run();
    EXPECT_EQ(reply.outcome, Outcome::kTimedOut);
    EXPECT_TRUE(reply.driver_lost);
    EXPECT_EQ(children_left(), std::vector<pid_t>{});
}

TEST_F(DriverTest, TakesGarbageForACrash) {
    ASSERT_TRUE(start("garbage").ok());
    const DriverReply reply = run();
    EXPECT_EQ(reply.outcome, Outcome::kCrashed);
    EXPECT_NE(reply.message.find("segmentation fault"), std::string::npos) << reply.message;
}

TEST_F(DriverTest, TakesALineThatIsTooLongForACrash) {
    ASSERT_TRUE(start("long-line").ok());
    EXPECT_EQ(run().outcome, Outcome::kCrashed);
}

TEST_F(DriverTest, SurvivesDeeplyNestedJson) {
    ASSERT_TRUE(start("deep").ok());
    EXPECT_EQ(run().outcome, Outcome::kCrashed);
}

TEST_F(DriverTest, TakesAnEventOfAnotherRequestForACrash) {
    ASSERT_TRUE(start("wrong-id").ok());
    EXPECT_EQ(run().outcome, Outcome::kCrashed);
}

TEST_F(DriverTest, EndsAFloodOfEvents) {
    DriverOptions flooding = options("flood-rows");
    flooding.max_event_bytes = 1 << 20;
    ASSERT_TRUE(start(flooding).ok());
    EXPECT_EQ(run().outcome, Outcome::kCrashed);
}

TEST_F(DriverTest, KeepsOnlyTheEndOfAFloodOfOutput) {
    ASSERT_TRUE(start("flood-stdout").ok());
    const DriverReply reply = run();
    EXPECT_EQ(reply.outcome, Outcome::kOk) << reply.message;
    EXPECT_LE(reply.log.size(), 16U << 10);
    EXPECT_NE(reply.log.find("the end"), std::string::npos);
}

TEST_F(DriverTest, KillsWhatPassesItsMemoryLimit) {
    ASSERT_TRUE(start("leaks").ok());
    request_.memory_limit = Bytes{100 << 20};
    const DriverReply reply = run();
    EXPECT_EQ(reply.outcome, Outcome::kOutOfMemory) << reply.message;
    EXPECT_GT(reply.peak_memory, request_.memory_limit);
}

TEST_F(DriverTest, CountsTheMemoryOfChildren) {
    ASSERT_TRUE(start("leaks-in-child").ok());
    request_.memory_limit = Bytes{100 << 20};
    EXPECT_EQ(run().outcome, Outcome::kOutOfMemory);
}

TEST_F(DriverTest, FindsADaemonThatHidFromIt) {
    ASSERT_TRUE(start("daemon").ok());
    EXPECT_EQ(run().outcome, Outcome::kCrashed);
    EXPECT_EQ(rows_.size(), 1U);
    EXPECT_EQ(children_left(), std::vector<pid_t>{});
}

TEST_F(DriverTest, OpensOnlyOutputsInsideTheDirectory) {
    ASSERT_TRUE(start("escapes").ok());
    const DriverReply reply = run();
    ASSERT_EQ(reply.outputs.size(), 5U);
    for (const auto& [name, path] : reply.outputs) EXPECT_EQ(open_output(request_.dir, path).ok(), name == "e") << path;
}

TEST_F(DriverTest, CountsCpuTimeOfTheDriverAndItsChildren) {
    ASSERT_TRUE(start("spins").ok());
    const DriverReply reply = run();
    EXPECT_GE(reply.cpu.count(), 280'000);  // 2 × 150 ms, less two clock ticks
    ASSERT_EQ(reply.phases.size(), 1U);
    EXPECT_EQ(reply.phases[0].name, "spin");
}

TEST_F(DriverTest, CancelsARunningRequest) {
    ASSERT_TRUE(start("hangs").ok());
    std::thread other([this] { token_.cancel(); });
    const DriverReply reply = run();
    other.join();
    EXPECT_EQ(reply.outcome, Outcome::kCancelled);
    EXPECT_TRUE(reply.driver_lost);
}

TEST_F(DriverTest, ReportsADriverThatSomebodyElseKilledAsCrashed) {
    ASSERT_TRUE(start("hangs").ok());
    const pid_t pid = driver_->pid();
    std::thread other([pid] { ::kill(pid, SIGKILL); });
    const DriverReply reply = run();
    other.join();
    EXPECT_EQ(reply.outcome, Outcome::kCrashed);
    EXPECT_NE(reply.message.find("SIGKILL"), std::string::npos);
}

TEST_F(DriverTest, SurvivesADriverThatDiedBeforeTheRequest) {
    ASSERT_TRUE(start("hangs").ok());
    ASSERT_EQ(::kill(driver_->pid(), SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(driver_->pid()), &info, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(run().outcome, Outcome::kCrashed);  // and no SIGPIPE, which would end this program
    EXPECT_TRUE(driver_->start().ok());
}

}  // namespace
}  // namespace tunefarm::worker
