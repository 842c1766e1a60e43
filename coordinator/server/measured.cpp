// SPDX-License-Identifier: MIT
#include "coordinator/server/measured.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tunefarm::server {

using nlohmann::json;

MeasuredProblemState::MeasuredProblemState(StepId step, std::int32_t problem, const StepDocument& document)
    : step_(step),
      problem_(problem),
      validation_(document.solutions.size()),
      messages_(document.solutions.size()),
      index_(document.solution_index()) {
    for (const StepDocument::Solution& solution : document.solutions) {
        candidates_.push_back(Candidate{solution.name, SolutionStatus::kPending, {}, 0});
    }
}

void MeasuredProblemState::begin_attempt(std::uint32_t attempt, const std::string& device, bool simulated) {
    attempt_ = attempt;
    device_ = device;
    simulated_ = simulated;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        candidates_[i].samples.clear();
        candidates_[i].status = SolutionStatus::kPending;
        validation_[i].clear();
        messages_[i].clear();
    }
}

Status MeasuredProblemState::row(std::string_view text, std::vector<storage::Record>& out) {
    const auto wrong = [](const std::string& what) {
        return Error{ErrorKind::kCorruption, "measurement row: " + what};
    };
    try {
        const json row = json::parse(text);
        const auto found = index_.find(row.at("solution").get<std::string>());
        if (found == index_.end()) return wrong("unknown solution in " + std::string(text.substr(0, 200)));
        const auto i = static_cast<std::size_t>(found->second);
        const std::string type = row.at("type").get<std::string>();
        if (type == "sample") {
            storage::SampleRecord sample;
            sample.step = step_;
            sample.problem = problem_;
            sample.solution = found->second;
            sample.sample =
                static_cast<std::int32_t>(attempt_ - 1) * kSamplesPerAttempt + row.at("sample").get<std::int32_t>();
            sample.block = row.at("block").get<std::int32_t>();
            sample.us = row.at("us").get<double>();
            sample.launches = row.value("launches", 1);
            if (!std::isfinite(sample.us) || sample.us <= 0) return wrong("a time that is not positive");
            candidates_[i].samples.push_back(BlockedValue{sample.block, sample.us});
            out.emplace_back(sample);
            return {};
        }
        if (type == "validation") {
            validation_[i] = row.at("validation").get<std::string>();
        } else if (type == "status") {
            const auto status = parse_solution_status(row.at("status").get<std::string>());
            if (!status) return wrong("unknown status in " + std::string(text.substr(0, 200)));
            candidates_[i].status = *status;
        } else {
            return wrong("unknown type \"" + type + "\"");
        }
        if (row.contains("message")) messages_[i] = row.at("message").get<std::string>();
        storage::MeasurementRecord record;
        record.step = step_;
        record.problem = problem_;
        record.solution = found->second;
        record.device = device_;
        record.validation = validation_[i];
        record.status = to_string(candidates_[i].status);
        record.simulated = simulated_;
        record.message = messages_[i];
        out.emplace_back(std::move(record));
        return {};
    } catch (const json::exception& e) {
        return wrong(e.what());
    }
}

void MeasuredProblemState::restore(const storage::MeasuredProblem& measured) {
    std::int32_t last_attempt = 0;
    for (const storage::SampleRecord& sample : measured.samples) {
        last_attempt = std::max(last_attempt, sample.sample / kSamplesPerAttempt);
    }
    for (const storage::SampleRecord& sample : measured.samples) {
        if (sample.sample / kSamplesPerAttempt != last_attempt) continue;
        candidates_[static_cast<std::size_t>(sample.solution)].samples.push_back(BlockedValue{sample.block, sample.us});
    }
    for (const storage::MeasurementRecord& record : measured.measurements) {
        const auto i = static_cast<std::size_t>(record.solution);
        candidates_[i].status = parse_solution_status(record.status).value_or(SolutionStatus::kPending);
        validation_[i] = record.validation;
        messages_[i] = record.message;
        device_ = record.device;
        simulated_ = record.simulated;
    }
}

std::vector<storage::ResultRecord> MeasuredProblemState::results(const Decision& decision, double flop) const {
    std::vector<storage::ResultRecord> out;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const SolutionResult& from = decision.results[i];
        if (from.samples == 0) continue;
        storage::ResultRecord record;
        record.step = step_;
        record.problem = problem_;
        record.solution = static_cast<std::int32_t>(i);
        record.samples = from.samples;
        record.median_us = from.median_us;
        if (from.interval) {
            record.ci_low_us = from.interval->low;
            record.ci_high_us = from.interval->high;
        }
        record.gflops = from.median_us > 0 ? flop / from.median_us * 1e-3 : 0;
        record.winner = to_string(from.standing);
        out.push_back(std::move(record));
    }
    return out;
}

std::string MeasuredProblemState::results_json(const Decision& decision, const StepDocument& document) const {
    const StepDocument::Problem& problem = document.problems[static_cast<std::size_t>(problem_)];
    json list = json::array();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const SolutionResult& from = decision.results[i];
        const StepDocument::Solution& solution = document.solutions[i];
        json row = {{"problem", problem.name},
                    {"kernel", document.kernels[static_cast<std::size_t>(solution.kernel)].name},
                    {"solution", solution.name},
                    {"device", device_},
                    {"validation", validation_[i].empty() ? json(nullptr) : json(validation_[i])},
                    {"samples", from.samples},
                    {"status", to_string(candidates_[i].status)},
                    {"simulated", simulated_},
                    {"median_us", nullptr},
                    {"ci_low_us", nullptr},
                    {"ci_high_us", nullptr},
                    {"gflops", nullptr},
                    {"winner", nullptr}};
        if (from.samples > 0) {
            row["median_us"] = from.median_us;
            row["gflops"] = problem.flop / from.median_us * 1e-3;
        }
        if (from.interval) {
            row["ci_low_us"] = from.interval->low;
            row["ci_high_us"] = from.interval->high;
        }
        if (from.standing != Standing::kNone) row["winner"] = to_string(from.standing);
        list.push_back(std::move(row));
    }
    return list.dump();
}

std::int32_t MeasuredProblemState::measured() const {
    return static_cast<std::int32_t>(
        std::count_if(candidates_.begin(), candidates_.end(), [](const Candidate& candidate) {
            return !candidate.samples.empty() && candidate.status != SolutionStatus::kFailed;
        }));
}

}  // namespace tunefarm::server
