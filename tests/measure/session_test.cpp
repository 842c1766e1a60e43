// SPDX-License-Identifier: MIT
#include "worker/measure/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace tunefarm::worker {
namespace {

using nlohmann::json;

/// Answers like a driver; solutions named in `killers` end it when they are timed, those in `wrong` fail validation.
class FakeDriver : public MeasureDriver {
  public:
    explicit FakeDriver(std::map<std::string, double> times) : times_(std::move(times)) {}

    Result<std::vector<std::string>> measure(const Request& request,
                                             std::vector<std::string>* rows_before_failure) override {
        if (cancel_after == 0) return Error{ErrorKind::kCancelled, "cancelled"};
        --cancel_after;
        const bool validate = request.phase == Request::Phase::kValidate;
        std::vector<std::string> rows;
        for (const std::string& name : request.order) {
            if (!validate && killers.contains(name)) {
                *rows_before_failure = rows;
                return killers.at(name);
            }
            now += Micros{1000};
            if (!validate) {
                rows.push_back(json{{"solution", name}, {"us", times_.at(name)}, {"launches", 4}}.dump());
            } else if (wrong.contains(name)) {
                rows.push_back(wrong.at(name));
            } else {
                rows.push_back(
                    json{{"solution", name}, {"validation", "PASSED"}, {"error", 1e-7}, {"tolerance", 1e-5}}.dump());
            }
        }
        return rows;
    }
    Status restart() override {
        ++restarts;
        if (refuse_restart) return Error{ErrorKind::kUnavailable, "no such program"};
        return {};
    }

    std::map<std::string, Error> killers;
    std::map<std::string, std::string> wrong;
    int cancel_after = -1;
    bool refuse_restart = false;
    int restarts = 0;
    Micros now{0};

  private:
    std::map<std::string, double> times_;
};

class CollectedRows : public RowSink {
  public:
    void row(std::string text) override {
        EXPECT_EQ(text.find('\n'), std::string::npos);
        rows.push_back(json::parse(text));
    }
    std::vector<json> of(const std::string& type) const {
        std::vector<json> found;
        std::copy_if(rows.begin(), rows.end(), std::back_inserter(found),
                     [&](const json& r) { return r["type"] == type; });
        return found;
    }
    json status_of(const std::string& solution) const {
        for (const json& r : of("status")) {
            if (r["solution"] == solution) return r;
        }
        return nullptr;
    }
    std::vector<json> rows;
};

class Session : public testing::Test {
  protected:
    Session() {
        spec.solutions = {"a", "b", "c"};
        spec.problem_name = "512x512";
    }
    Result<MeasureSummary> run() {
        return run_measurement(spec, driver, sink, [this] { return driver.now; });
    }
    MeasureSpec spec;
    FakeDriver driver{{{"a", 100}, {"b", 120}, {"c", 110}}};
    CollectedRows sink;
};

TEST_F(Session, StreamsValidationSamplesAndStatuses) {
    const auto summary = run();
    ASSERT_TRUE(summary.ok()) << summary.error().message;
    EXPECT_EQ(sink.of("validation").size(), 3u);
    EXPECT_EQ(sink.rows[0], (json{{"type", "validation"},
                                  {"solution", "a"},
                                  {"validation", "PASSED"},
                                  {"error", 1e-7},
                                  {"tolerance", 1e-5}}));
    const std::vector<json> samples = sink.of("sample");
    EXPECT_EQ(static_cast<std::int64_t>(samples.size()), summary->samples);
    for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i]["sample"], i) << "time order";
    EXPECT_EQ(samples[0]["block"], 0);
    EXPECT_EQ(samples[0]["launches"], 4);
    EXPECT_EQ(sink.of("status").size(), 3u);
    EXPECT_EQ(sink.status_of("a")["status"], "converged");
    EXPECT_EQ(sink.status_of("b")["status"], "screened");
    EXPECT_EQ(summary->restarts, driver.restarts);
    EXPECT_EQ(summary->blocks, summary->restarts + 1) << "the first block shares its process with validation";
    EXPECT_EQ(summary->validation, Micros{3000});
    EXPECT_EQ(summary->timing, driver.now - Micros{3000});
}

TEST_F(Session, WrongResultsAreReportedAndNotTimed) {
    driver.wrong["b"] = R"({"solution":"b","validation":"FAILED","error":0.5,"tolerance":1e-5})";
    driver.wrong["c"] = R"({"solution":"c","validation":"FAILED","error":null,"tolerance":1e-5,"reason":"NaN at 3,4"})";
    ASSERT_TRUE(run().ok());
    EXPECT_EQ(sink.status_of("b")["status"], "failed");
    EXPECT_EQ(sink.status_of("b")["message"], "wrong results: error 0.5, tolerance 1e-05");
    EXPECT_EQ(sink.status_of("c")["message"], "wrong results: NaN at 3,4");
    EXPECT_TRUE(sink.of("validation")[2]["error"].is_null());
    for (const json& sample : sink.of("sample")) EXPECT_EQ(sample["solution"], "a");
}

TEST_F(Session, ACrashInFlightFailsOneSolutionAndKeepsTheOthers) {
    driver.killers["a"] = Error{ErrorKind::kUnavailable, "driver: signal 11"};
    const auto summary = run();
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->failed, 1);
    EXPECT_EQ(sink.status_of("a")["status"], "failed");
    EXPECT_EQ(sink.status_of("a")["message"], "driver: signal 11");
    EXPECT_EQ(sink.status_of("c")["status"], "converged");
    for (const json& sample : sink.of("sample")) EXPECT_NE(sample["solution"], "a");
}

TEST_F(Session, AHangIsChargedLikeACrash) {
    driver.killers["b"] = Error{ErrorKind::kTimeout, "no row for 30 s"};
    ASSERT_TRUE(run().ok());
    EXPECT_EQ(sink.status_of("b")["message"], "no row for 30 s");
}

TEST_F(Session, CancellingEndsTheMeasurementAndKeepsItsRows) {
    driver.cancel_after = 3;
    const auto summary = run();
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().kind, ErrorKind::kCancelled);
    EXPECT_FALSE(sink.of("sample").empty());
    EXPECT_TRUE(sink.of("status").empty()) << "nothing is concluded from an unfinished race";
}

TEST_F(Session, ADriverThatCannotBeRestartedEndsTheMeasurement) {
    driver.refuse_restart = true;
    const auto summary = run();
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().kind, ErrorKind::kUnavailable);
    EXPECT_EQ(summary.error().message, "512x512: cannot restart the driver: no such program");
}

TEST_F(Session, GarbageFromADriverIsCorruption) {
    for (const char* garbage :
         {"", "nonsense", "[]", "{}", R"({"solution":7,"validation":"PASSED"})", R"({"solution":"a"})",
          R"({"solution":"a","validation":"MAYBE"})", R"({"solution":"a","validation":"PASSED","error":"small"})",
          R"({"solution":"b","validation":"PASSED"})"}) {
        driver.wrong["a"] = garbage;
        const auto summary = run();
        ASSERT_FALSE(summary.ok()) << garbage;
        EXPECT_EQ(summary.error().kind, ErrorKind::kCorruption) << garbage;
    }
}

TEST_F(Session, DuplicateNamesAreABugOfTheCaller) {
    spec.solutions = {"a", "a"};
    EXPECT_FALSE(run().ok());
}

TEST_F(Session, NothingToMeasureIsAnEmptySuccess) {
    spec.solutions = {};
    const auto summary = run();
    ASSERT_TRUE(summary.ok());
    EXPECT_TRUE(sink.rows.empty());
}

}  // namespace
}  // namespace tunefarm::worker
