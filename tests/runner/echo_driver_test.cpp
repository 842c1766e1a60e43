// SPDX-License-Identifier: MIT
// The example of docs/drivers.md, through the real runner.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/runner/testing.h"
#include "worker/runner/driver.h"
#include "worker/runner/outputs.h"

namespace tunefarm::worker {
namespace {

using nlohmann::json;

class EchoDriver : public testing::Test {
  protected:
    EchoDriver() : driver_(python_driver("echo", "/examples/drivers/echo_driver.py", directory_.path)) {}
    void SetUp() override {
        const Status started = driver_.start();
        ASSERT_TRUE(started.ok()) << started.error().message;
        write("config.json", R"({"Toolchain":"echo","BenchmarkProblems":[[{},
            {"BenchmarkFinalParameters":[{"ProblemSizes":[{"Exact":[64,1,1,1]}]}]},
            {"BenchmarkFinalParameters":[{"ProblemSizes":[{"Exact":[128,1,1,1]}]}]}]]})");
    }
    std::string path(const std::string& name) { return directory_.path + "/" + name; }
    void write(const std::string& name, const std::string& text) { std::ofstream(path(name)) << text; }

    json call(const std::string& verb, std::vector<std::pair<std::string, std::string>> inputs, const json& args) {
        rows.clear();
        DriverRequest request;
        request.verb = verb;
        request.target = "any";
        request.dir = path("dir-" + verb);
        EXPECT_TRUE(make_directories(request.dir).ok());
        request.inputs = std::move(inputs);
        request.args = args.dump();
        DriverCallbacks callbacks;
        callbacks.row = [this](std::string row) {
            rows.push_back(json::parse(row));
            return true;
        };
        reply = driver_.run(request, token_, callbacks);
        for (const auto& [name, output] : reply.outputs) {
            EXPECT_TRUE(open_output(request.dir, output).ok()) << name;
            outputs[name] = request.dir + "/" + output;
        }
        return json::parse(reply.result);
    }

    TemporaryDirectory directory_;
    Driver driver_;
    CancelToken token_;
    DriverReply reply;
    std::vector<json> rows;
    std::map<std::string, std::string> outputs;
};

TEST_F(EchoDriver, SpeaksEveryVerb) {
    EXPECT_EQ(driver_.hello().capabilities.size(), 7U);
    const json split = call("split", {{"config", path("config.json")}}, json::object());
    ASSERT_EQ(reply.outcome, Outcome::kOk) << reply.message << reply.log;
    ASSERT_EQ(split["units"].size(), 2U);
    for (const char* key : {"index", "entry", "group", "problem", "group_name", "cache_key", "fork_permutations",
                            "size_entries", "problem_sizes", "custom_kernels", "result_driven"}) {
        EXPECT_TRUE(split["units"][1].contains(key)) << key;
    }

    const json prepared = call("prepare", {{"config", path("config.json")}}, {{"unit", 0}});
    ASSERT_EQ(reply.outcome, Outcome::kOk) << reply.message;
    EXPECT_EQ(prepared["kernels"], 2);
    const json step = json::parse(std::ifstream(outputs.at("step")));
    ASSERT_EQ(step["kernels"].size(), 2U);
    EXPECT_EQ(step["solutions"].size(), 2U);
    EXPECT_EQ(step["problems"].size(), 1U);

    call("helper", {{"source", outputs.at("helper")}}, json::object());
    ASSERT_EQ(reply.outcome, Outcome::kOk) << reply.message;
    const std::string helper = outputs.at("object");

    json kernels = json::array();
    for (std::size_t i = 0; i < 2; ++i) kernels.push_back({{"id", i}, {"args", step["kernels"][i]["args"]}});
    call("build", {}, {{"kernels", kernels}});
    ASSERT_EQ(reply.outcome, Outcome::kOk) << reply.message;
    ASSERT_EQ(rows.size(), 2U);
    ASSERT_TRUE(make_directories(path("kernels")).ok());
    for (const json& row : rows) {
        ASSERT_TRUE(parse_build_row(row.dump()).ok());
        const std::size_t id = row["id"];
        ASSERT_TRUE(make_directories(path("kernels")).ok());
        const auto object = read_file(path("dir-build/") + row["outputs"]["object"].get<std::string>(), 1 << 20);
        ASSERT_TRUE(object.ok());
        write("kernels/" + step["kernels"][id]["name"].get<std::string>(), *object);
    }

    write("step.json", step.dump());
    call("finish", {{"step", path("step.json")}, {"kernels", path("kernels")}}, json::object());
    ASSERT_EQ(reply.outcome, Outcome::kOk) << reply.message;
    ASSERT_TRUE(outputs.count("library"));

    const std::vector<std::pair<std::string, std::string>> bundle{{"library", outputs.at("library")},
                                                                  {"helper", helper}};
    const json order = {"echo_a", "echo_b"};
    call("measure", bundle,
         {{"phase", "validate"}, {"problem", step["problems"][0]}, {"order", order}, {"repeats", 1}});
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[1]["validation"], "PASSED");
    call("measure", bundle, {{"phase", "time"}, {"problem", step["problems"][0]}, {"order", order}, {"repeats", 3}});
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_GT(rows[0]["us"].get<double>(), 0);

    call("conclude", {{"step", path("step.json")}}, json::object());
    ASSERT_EQ(reply.outcome, Outcome::kOk) << reply.message;
    EXPECT_TRUE(outputs.count("results.json"));
}

TEST_F(EchoDriver, SaysWhereTheConfigIsWrong) {
    write("config.json", R"({"Toolchain":"echo","BenchmarkProblems":[[{},{}]]})");
    call("split", {{"config", path("config.json")}}, json::object());
    EXPECT_EQ(reply.outcome, Outcome::kInputFailed);
    EXPECT_EQ(reply.path, "BenchmarkProblems[0][1]");
    EXPECT_FALSE(reply.driver_lost);
}

}  // namespace
}  // namespace tunefarm::worker
