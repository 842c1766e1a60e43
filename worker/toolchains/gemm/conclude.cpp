// SPDX-License-Identifier: MIT
// A step's result files. The CSV has upstream's columns (TensileLite's ResultFileReporter): one row per problem, one
// column per solution, in GFLOP/s; -1.0 where validation failed, empty where there is no result.
#include <fmt/format.h>

#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

#include "worker/toolchains/gemm/documents.h"
#include "worker/toolchains/gemm/json_access.h"

namespace tunefarm::gemm {
namespace {

using Json = nlohmann::ordered_json;

bool fail(Failure* failure, std::string message) {
    *failure = Failure{"input", std::move(message), {}, {}, {}};
    return false;
}

/// `winner` is a truth value, or a word for people.
bool is_winner(const Json& row) {
    const Json& winner = member(row, "winner");
    return winner == true || winner == "winner" || winner == "yes";
}

bool is_tie(const Json& row) {
    return member(row, "winner") == "tie" || member(row, "tie") == true || member(row, "status") == "tie";
}

std::string csv(const Json& problems, const Json& solutions,
                const std::map<std::pair<std::string, std::string>, const Json*>& rows) {
    std::string out =
        "GFlops, SizeI, SizeJ, SizeK, SizeL, LDD, LDC, LDA, LDB, TotalFlops, WinnerGFlops, WinnerTimeUS, WinnerIdx, "
        "WinnerName";
    for (const Json& solution : solutions) out += ", " + text_of(solution, "name");
    out += "\n";
    std::size_t number = 0;
    for (const Json& problem : problems) {
        out += std::to_string(number++);
        const Json& sizes = member(problem, "sizes");
        for (std::size_t i = 0; i < 8; ++i) {
            out += ", " + (sizes.is_array() && i < sizes.size() ? sizes[i].dump() : std::string("0"));
        }
        const double flop = member(problem, "flop").is_number() ? member(problem, "flop").get<double>() : 0;
        out += fmt::format(", {:.0f}", flop);
        std::string cells;
        double best = -1;
        double best_us = 0;
        std::size_t best_index = 0;
        std::size_t index = 0;
        for (const Json& solution : solutions) {
            const auto found = rows.find({text_of(problem, "name"), text_of(solution, "name")});
            cells += ", ";
            if (found != rows.end()) {
                const Json& row = *found->second;
                if (text_of(row, "validation") == "FAILED") {
                    cells += "-1.0";
                } else if (member(row, "gflops").is_number()) {
                    const double gflops = member(row, "gflops").get<double>();
                    cells += fmt::format("{:.4f}", gflops);
                    if (gflops > best) {
                        best = gflops;
                        best_us = member(row, "median_us").is_number() ? member(row, "median_us").get<double>() : 0;
                        best_index = index;
                    }
                }
            }
            ++index;
        }
        if (best >= 0) {
            out += fmt::format(", {:.4f}, {:.4f}, {}, {}", best, best_us, best_index,
                               text_of(solutions[best_index], "name"));
        } else {
            out += ", , , , ";
        }
        out += cells + "\n";
    }
    return out;
}

Json candidate(const Json& row) {
    return Json{{"solution", member(row, "solution")},   {"median_us", member(row, "median_us")},
                {"ci_low_us", member(row, "ci_low_us")}, {"ci_high_us", member(row, "ci_high_us")},
                {"gflops", member(row, "gflops")},       {"samples", member(row, "samples")}};
}

/// A problem has either winners or a tie set: a faster median alone is no winner.
Json winners(const Json& step, const Json& problems, const Json& rows) {
    Json list = Json::array();
    for (const Json& problem : problems) {
        Json won = Json::array();
        Json tied = Json::array();
        for (const Json& row : rows) {
            if (text_of(row, "problem") != text_of(problem, "name")) continue;
            if (is_winner(row)) won.push_back(candidate(row));
            if (is_tie(row)) tied.push_back(candidate(row));
        }
        list.push_back(Json{{"problem", member(problem, "name")},
                            {"winner", won.empty() ? Json() : won.front()},
                            {"ties", std::move(tied)}});
    }
    return Json{{"version", 1},
                {"status", "measured"},
                {"group_name", member(step, "group_name")},
                {"target", member(step, "target")},
                {"problems", std::move(list)}};
}

}  // namespace

bool conclude_step(const Json& step, const Json& results, std::vector<ResultFile>* files, Failure* failure) {
    const Json& problems = member(step, "problems");
    const Json& solutions = member(step, "solutions");
    const std::string group = text_of(step, "group_name");
    if (!problems.is_array() || !solutions.is_array() || group.empty())
        return fail(failure, "the step document is incomplete");
    for (const char c : group) {
        // The name becomes a file's name.
        if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_')
            return fail(failure, "the group's name is not a name");
    }
    if (results.is_null()) {
        Json kernels = Json::array();
        for (const Json& kernel : member(step, "kernels"))
            kernels.push_back(Json{{"name", member(kernel, "name")}, {"status", "built"}});
        const Json document{{"version", 1},
                            {"status", "built"},
                            {"note", "built, not measured: this says nothing about speed"},
                            {"group_name", group},
                            {"target", member(step, "target")},
                            {"kernels", std::move(kernels)}};
        files->push_back({group + "_kernels.json", document.dump(2) + "\n"});
        return true;
    }
    const Json& rows = results.is_array() ? results : member(results, "results");
    if (!rows.is_array()) return fail(failure, "the results have no rows");
    std::map<std::pair<std::string, std::string>, const Json*> by_name;
    for (const Json& row : rows) by_name[{text_of(row, "problem"), text_of(row, "solution")}] = &row;
    files->push_back({group + "_00_Final.csv", csv(problems, solutions, by_name)});
    files->push_back({group + "_winners.json", winners(step, problems, rows).dump(2) + "\n"});
    return true;
}

}  // namespace tunefarm::gemm
