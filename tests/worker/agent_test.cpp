// SPDX-License-Identifier: MIT
#include "worker/agent/agent.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "tests/runner/testing.h"
#include "tests/worker/fake_coordinator.h"

namespace tunefarm::worker {
namespace {

using nlohmann::json;
using protocol::AttemptKey;

/// A device that takes all slots, as the host CPU does on small hosts.
class OneDevice : public DeviceKind {
  public:
    std::vector<protocol::Device> enumerate(std::uint32_t slots) const override {
        return {{"cpu", "any", "test CPU", "{}", false, slots}};
    }
    std::vector<int> measuring_cpus(const protocol::Device&) const override { return {}; }
    std::vector<int> reserved_cpus(const protocol::Device&) const override { return {}; }
};

class AgentTest : public testing::Test {
  protected:
    AgentTest() : coordinator_(directory_.path) {
        options_.endpoint = coordinator_.endpoint();
        options_.host = "host";
        options_.slots = 2;
        options_.state_dir = directory_.path + "/state";
        const std::string source(TUNEFARM_SOURCE_DIR);
        options_.drivers = {
            {"echo", {"python3", "-S", "-B", source + "/examples/drivers/echo_driver.py"}, {}},
            {"bad", {"python3", "-S", "-B", source + "/tests/worker/poison_driver.py"}, {}},
            {"gone", {"/nowhere/driver"}, {}},
        };
        options_.devices = {&device_};
    }
    void start() {
        agent_ = std::make_unique<Agent>(options_);
        thread_ = std::thread([this] { exit_ = agent_->run(); });
        ASSERT_TRUE(coordinator_.until([&] { return !coordinator_.hellos.empty(); }));
    }
    void stop() {
        agent_->request_stop(true);
        thread_.join();
        EXPECT_TRUE(exit_.ok()) << exit_.error().message;
    }
    void TearDown() override {
        if (thread_.joinable()) {
            agent_->request_stop(false);
            thread_.join();
        }
        EXPECT_EQ(children_left(), std::vector<pid_t>{});
    }
    static AttemptKey key(std::int64_t action) { return {ActionId{action}, 1}; }
    static protocol::Assign assign(TaskKind kind, const std::string& toolchain, std::int64_t first,
                                   const std::vector<json>& items) {
        protocol::Assign message;
        message.kind = kind;
        message.toolchain = toolchain;
        message.target = "any";
        for (const json& args : items) message.items.push_back({key(first++), args.dump()});
        message.time_limit = Micros{20'000'000};
        return message;
    }
    protocol::Input input(const std::string& name, const std::string& content, const std::string& path = "") {
        return {name, path, coordinator_.store.put(content), content.size()};
    }

    TemporaryDirectory directory_;
    OneDevice device_;
    FakeCoordinator coordinator_;
    AgentOptions options_;
    std::unique_ptr<Agent> agent_;
    std::thread thread_;
    Result<int> exit_ = 0;
};

TEST_F(AgentTest, LostMessagesOfTheCoordinatorMakeItSayHelloAgain) {
    start();
    coordinator_.send(protocol::CoordinatorHeartbeat{1});
    coordinator_.send(protocol::CoordinatorHeartbeat{9});
    EXPECT_TRUE(coordinator_.until([&] { return coordinator_.hellos.size() == 2; }));
    EXPECT_EQ(coordinator_.hellos[0].boot, coordinator_.hellos[1].boot);
    stop();
}

TEST_F(AgentTest, SaysWhatItCanDoAndWhatIsMissing) {
    start();
    const protocol::Hello& hello = coordinator_.hellos[0];
    EXPECT_EQ(hello.slots, 2U);
    EXPECT_GE(hello.capabilities.size(), 8U);
    ASSERT_EQ(hello.missing.size(), 1U);
    EXPECT_NE(hello.missing[0].reason.find("/nowhere/driver"), std::string::npos);
    ASSERT_EQ(hello.devices.size(), 1U);
}

TEST_F(AgentTest, FetchesInputsAndUploadsOutputsBeforeTheResult) {
    start();
    protocol::Assign finish = assign(TaskKind::kFinish, "echo", 1, {json::object()});
    finish.inputs = {input("kernels", "aaa", "echo_a"), input("kernels", "bbb", "echo_b"), input("step", "{}")};
    coordinator_.send(finish);
    const auto results = coordinator_.results_of({key(1)});
    ASSERT_EQ(results[0].outcome, Outcome::kOk) << results[0].message << results[0].log;
    ASSERT_EQ(results[0].outputs.size(), 1U);
    EXPECT_EQ(coordinator_.store.get(results[0].outputs[0].digest), "aaabbb");
    EXPECT_GE(results[0].timings.ended, results[0].timings.started);
    stop();
    EXPECT_TRUE(coordinator_.until([&] { return coordinator_.goodbye; }));
}

TEST_F(AgentTest, BlamesOnlyTheKernelThatKillsItsDriver) {
    start();
    coordinator_.send(assign(TaskKind::kBuild, "bad", 1,
                             {{{"name", "a"}, {"args", {{"do", "ok"}}}},
                              {{"name", "b"}, {"args", {{"do", "die"}}}},
                              {{"name", "c"}, {"args", {{"do", "ok"}}}},
                              {{"name", "d"}, {"args", {{"do", "fail"}}}}}));
    const auto results = coordinator_.results_of({key(1), key(2), key(3), key(4)});
    EXPECT_EQ(results[0].outcome, Outcome::kOk) << results[0].message;
    EXPECT_EQ(results[1].outcome, Outcome::kCrashed);
    EXPECT_EQ(results[2].outcome, Outcome::kOk) << results[2].message;
    EXPECT_EQ(results[3].outcome, Outcome::kInputFailed);
    EXPECT_EQ(results[3].message, "does not compile");
}

TEST_F(AgentTest, MeasuresWithRowsAsTheyCome) {
    start();
    protocol::Assign measure = assign(TaskKind::kMeasure, "echo", 1,
                                      {{{"problem", {{"name", "64"}}},
                                        {"problem_name", "64"},
                                        {"flop", 64},
                                        {"solutions", {"echo_a", "echo_b"}},
                                        {"seed", 1},
                                        {"budget_us", 300000}}});
    measure.device = "cpu";
    coordinator_.send(measure);
    const auto results = coordinator_.results_of({key(1)});
    ASSERT_EQ(results[0].outcome, Outcome::kOk) << results[0].message << results[0].log;
    EXPECT_GT(results[0].row_count, 2U);
    EXPECT_EQ(coordinator_.rows[key(1)].size(), results[0].row_count);
}

TEST_F(AgentTest, CancelsWhatRunsAndWhatWaits) {
    start();
    const json hang = {{"name", "a"}, {"args", {{"do", "hang"}}}};
    for (int i = 1; i <= 3; ++i) coordinator_.send(assign(TaskKind::kBuild, "bad", i, {hang}));
    ASSERT_TRUE(coordinator_.until([&] { return coordinator_.running.size() == 3; }));
    coordinator_.send(protocol::Cancel{{key(1), key(2), key(3)}, "not wanted"});
    for (const auto& result : coordinator_.results_of({key(1), key(2), key(3)})) {
        EXPECT_EQ(result.outcome, Outcome::kCancelled);
    }
}

TEST_F(AgentTest, SendsUnacknowledgedResultsAgainToTheNextCoordinator) {
    coordinator_.acknowledge = false;
    start();
    coordinator_.send(assign(TaskKind::kNoop, "", 1, {json::object(), json::object()}));
    EXPECT_EQ(coordinator_.results_of({key(1), key(2)}).size(), 2U);
    coordinator_.results.clear();
    coordinator_.acknowledge = true;
    coordinator_.send(protocol::Refused{"restarted", true});
    EXPECT_EQ(coordinator_.results_of({key(1), key(2)}).size(), 2U);
    EXPECT_EQ(coordinator_.hellos.size(), 2U);
    EXPECT_EQ(coordinator_.hellos[0].boot, coordinator_.hellos[1].boot);
}

TEST_F(AgentTest, AccountsForAllSlotTime) {
    start();
    for (int i = 1; i <= 4; ++i) {
        coordinator_.send(assign(TaskKind::kBuild, "echo", i, {{{"name", "a"}, {"args", {{"letter", "a"}}}}}));
    }
    coordinator_.results_of({key(1), key(2), key(3), key(4)});
    coordinator_.account = {};
    ASSERT_TRUE(coordinator_.until([&] { return coordinator_.account.wall.count() > 0; }));
    const protocol::SlotAccount& account = coordinator_.account;
    Micros sum = std::accumulate(account.busy.begin(), account.busy.end(), Micros{0});
    EXPECT_GT(sum.count(), 0);
    for (const auto& [reason, time] : account.idle) sum += time;
    EXPECT_NEAR(static_cast<double>(sum.count()), static_cast<double>(account.wall.count() * 2),
                0.02 * 2 * static_cast<double>(account.wall.count()));
}

}  // namespace
}  // namespace tunefarm::worker
