// SPDX-License-Identifier: MIT
#include "storage/miopen/problem_list.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tunefarm::miopen {

namespace {

/// What the library prints in front of each command: "MIOpen(HIP): Command [LogCmdFindConvolution] ./bin/MIOpenDriver
/// …".
constexpr std::string_view kLogMark = "Command [";

std::string sort_name(const Problem& problem) {
    return std::to_string(problem.index()) + name_of(problem);
}

}  // namespace

void ProblemList::add(Problem problem, const std::string& file, std::int64_t line) {
    std::string name = sort_name(problem);
    const auto [place, is_new] =
        exact_.try_emplace(std::move(name), ListedProblem{std::move(problem), false, 0, file, line});
    ++place->second.count;
}

void ProblemList::add_commands(const std::string& file, std::string_view text) {
    const bool is_log = text.find(kLogMark) != std::string_view::npos;
    std::int64_t number = 0;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        ++number;
        Result<DriverLine> parsed = parse_driver_line(line);
        if (!parsed.ok()) {
            issues.add({Issue::Severity::kError, file, number, parsed.error().message});
            continue;
        }
        switch (parsed->kind) {
            case DriverLine::Kind::kNothing:
                if (!is_log && line.find_first_not_of(" \t\r`") != std::string_view::npos &&
                    line[line.find_first_not_of(" \t\r`")] != '#') {
                    issues.add({Issue::Severity::kWarning, file, number, "no command of MIOpenDriver"});
                }
                break;
            case DriverLine::Kind::kUnsupported:
                ++unsupported;
                issues.add({Issue::Severity::kWarning, file, number,
                            parsed->base.substr(0, 60) + ": only convolutions, batch norms and poolings are tuned"});
                break;
            case DriverLine::Kind::kProblems:
                for (Problem& problem : parsed->problems) add(std::move(problem), file, number);
                break;
        }
    }
}

void ProblemList::add_database(const TuningDb& db) {
    issues.add(db.issues);
    for (const Record& record : db.records) {
        Result<ConvProblem> problem =
            db.kind() == DbKind::kFind ? parse_find_key(record.key) : parse_perf_key(record.key);
        if (!problem.ok()) {
            issues.add({Issue::Severity::kWarning, db.file(), record.line, problem.error().message});
        } else if (db.kind() == DbKind::kFind) {
            add(std::move(*problem), db.file(), record.line);
        } else if (std::optional<ConvProblem> whole = completed(*problem)) {
            const auto [place, is_new] = partial_.try_emplace(
                std::string(record.key), ListedProblem{std::move(*whole), true, 0, db.file(), record.line});
            ++place->second.count;
        } else {
            issues.add(
                {Issue::Severity::kWarning, db.file(), record.line,
                 "key '" + std::string(record.key.substr(0, 200)) + "' has a size that no convolution can have"});
        }
    }
}

std::vector<ListedProblem> ProblemList::finish() {
    std::set<std::string> known;
    for (const auto& [name, listed] : exact_) {
        if (const auto* conv = std::get_if<ConvProblem>(&listed.problem)) known.insert(to_perf_key(*conv));
    }
    for (auto& [key, listed] : partial_) {
        if (!known.contains(key)) exact_.try_emplace(sort_name(listed.problem), std::move(listed));
    }
    std::vector<ListedProblem> problems;
    problems.reserve(exact_.size());
    for (auto& [name, listed] : exact_) problems.push_back(std::move(listed));
    return problems;
}

}  // namespace tunefarm::miopen
