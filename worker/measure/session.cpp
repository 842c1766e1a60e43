// SPDX-License-Identifier: MIT
#include "worker/measure/session.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

namespace tunefarm::worker {
namespace {

using nlohmann::json;

/// Longer reasons (a driver's whole log) would not fit the coordinator's table cells.
constexpr std::size_t kMaxMessage = 2000;

/// Bytes of a driver may not be UTF-8; the sink's rows must be.
std::string dump(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Error corrupt(const std::string& text) {
    return Error{ErrorKind::kCorruption, "row of the driver is not a measurement: " + text.substr(0, 200)};
}

/// The number at `key`; `otherwise` when it is absent or null (a driver writes null for NaN).
std::optional<double> number(const json& object, const char* key, double otherwise) {
    const auto at = object.find(key);
    if (at == object.end() || at->is_null()) return otherwise;
    if (!at->is_number()) return std::nullopt;
    return at->get<double>();
}

Result<Row> parse_row(Request::Phase phase, const std::string& text) {
    const json object = json::parse(text, nullptr, false);
    if (!object.is_object()) return corrupt(text);
    const auto solution = object.find("solution");
    if (solution == object.end() || !solution->is_string()) return corrupt(text);
    Row row;
    row.solution = solution->get<std::string>();
    if (phase == Request::Phase::kTime) {
        const auto us = object.find("us");
        const auto launches = number(object, "launches", 1);
        if (us == object.end() || !us->is_number() || !launches || !(*launches >= 1 && *launches <= 1e9)) {
            return corrupt(text);
        }
        row.us = us->get<double>();
        row.launches = static_cast<std::int32_t>(*launches);
        return row;
    }
    const auto verdict = object.find("validation");
    if (verdict == object.end() || (*verdict != "PASSED" && *verdict != "FAILED")) return corrupt(text);
    row.passed = *verdict == "PASSED";
    const auto error = number(object, "error", -1);
    const auto tolerance = number(object, "tolerance", -1);
    if (!error || !tolerance) return corrupt(text);
    row.error = *error;
    row.tolerance = *tolerance;
    if (row.passed) return row;
    const auto reason = object.find("reason");
    if (reason != object.end() && reason->is_string()) {
        row.message = "wrong results: " + reason->get<std::string>();
    } else {
        row.message = "wrong results: error " + json(row.error).dump() + ", tolerance " + json(row.tolerance).dump();
    }
    return row;
}

class Session {
  public:
    Session(const MeasureSpec& spec, MeasureDriver& driver, RowSink& sink, const std::function<Micros()>& elapsed)
        : spec_(spec),
          driver_(driver),
          sink_(sink),
          elapsed_(elapsed),
          began_(elapsed()),
          plan_(spec.solutions, spec.seed, spec.policy),
          reported_(spec.solutions.size(), SolutionStatus::kPending) {}

    Result<MeasureSummary> run() {
        while (!plan_.finished()) TUNEFARM_TRY(step());
        summary_.samples = static_cast<std::int64_t>(plan_.samples().size());
        summary_.blocks = plan_.blocks();
        for (std::size_t i = 0; i < spec_.solutions.size(); ++i) {
            summary_.warmups += plan_.warmups(i);
            if (plan_.status(i) == SolutionStatus::kFailed) ++summary_.failed;
        }
        return summary_;
    }

  private:
    Status step() {
        const Request request = plan_.next();
        const Micros before = elapsed_();
        if (request.fresh_process) {
            ++summary_.restarts;
            const Status restarted = driver_.restart();
            if (!restarted.ok()) return restarted.error().in("cannot restart the driver");
        }
        std::vector<std::string> rows_before_failure;
        Result<std::vector<std::string>> answer = driver_.measure(request, &rows_before_failure);
        if (!answer.ok() && answer.error().kind == ErrorKind::kCancelled) return answer.error();

        std::vector<Row> rows;
        for (const std::string& text : answer.ok() ? answer.value() : rows_before_failure) {
            TUNEFARM_ASSIGN(Row row, parse_row(request.phase, text));
            rows.push_back(std::move(row));
        }
        const Micros now = elapsed_();
        (request.phase == Request::Phase::kValidate ? summary_.validation : summary_.timing) += now - before;
        const Status taken =
            answer.ok() ? plan_.add(rows, now - began_) : plan_.interrupt(rows, now - began_, answer.error().message);
        if (request.phase == Request::Phase::kValidate) report_validation(rows);
        report_samples();
        report_statuses();
        return taken;
    }

    void report_validation(const std::vector<Row>& rows) {
        for (const Row& row : rows) {
            json object{
                {"type", "validation"}, {"solution", row.solution}, {"validation", row.passed ? "PASSED" : "FAILED"}};
            object["error"] = row.error < 0 ? json() : json(row.error);
            object["tolerance"] = row.tolerance < 0 ? json() : json(row.tolerance);
            sink_.row(dump(object));
        }
    }

    void report_samples() {
        for (; sent_samples_ < plan_.samples().size(); ++sent_samples_) {
            const Sample& sample = plan_.samples()[sent_samples_];
            sink_.row(dump({{"type", "sample"},
                            {"solution", spec_.solutions[sample.solution]},
                            {"sample", sent_samples_},
                            {"block", sample.block},
                            {"us", sample.us},
                            {"launches", sample.launches}}));
        }
    }

    /// A status leaves "pending" once, so each solution has one such row.
    void report_statuses() {
        for (std::size_t i = 0; i < spec_.solutions.size(); ++i) {
            if (plan_.status(i) == reported_[i]) continue;
            reported_[i] = plan_.status(i);
            sink_.row(dump({{"type", "status"},
                            {"solution", spec_.solutions[i]},
                            {"status", to_string(plan_.status(i))},
                            {"message", plan_.message(i).substr(0, kMaxMessage)},
                            {"warmups", plan_.warmups(i)}}));
        }
    }

    const MeasureSpec& spec_;
    MeasureDriver& driver_;
    RowSink& sink_;
    const std::function<Micros()>& elapsed_;
    const Micros began_;
    MeasurePlan plan_;
    std::vector<SolutionStatus> reported_;
    std::size_t sent_samples_ = 0;
    MeasureSummary summary_;
};

}  // namespace

Result<MeasureSummary> run_measurement(const MeasureSpec& spec, MeasureDriver& driver, RowSink& sink,
                                       const std::function<Micros()>& elapsed) {
    std::unordered_set<std::string> names(spec.solutions.begin(), spec.solutions.end());
    if (names.size() != spec.solutions.size()) {
        return Error{ErrorKind::kInternal, spec.problem_name + ": a solution is named twice"};
    }
    auto result = Session(spec, driver, sink, elapsed).run();
    if (!result.ok()) return result.error().in(spec.problem_name);
    return result;
}

}  // namespace tunefarm::worker
