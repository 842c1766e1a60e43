// SPDX-License-Identifier: MIT
#include "coordinator/server/step_document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace tunefarm::server {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxName = 200;

Error wrong(const std::string& what) {
    return Error{ErrorKind::kCorruption, "step document: " + what};
}

bool good_name(const std::string& name) {
    if (name.empty() || name.size() > kMaxName || name[0] == '.') return false;
    return std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
               c == '-';
    });
}

Status read_kernels(const json& list, StepDocument& out) {
    std::set<std::string> names;
    for (const json& item : list) {
        StepDocument::Kernel kernel;
        kernel.name = item.at("name").get<std::string>();
        if (!good_name(kernel.name)) return wrong("kernel name \"" + kernel.name + "\" is not [A-Za-z0-9_.-]{1,200}");
        if (!names.insert(kernel.name).second) return wrong("kernel name \"" + kernel.name + "\" occurs twice");
        if (!item.at("args").is_object()) return wrong("kernel " + kernel.name + ": args is not an object");
        kernel.args = item.at("args").dump();
        kernel.cost = std::clamp(item.value("cost", 1.0F), 1e-3F, 1e6F);
        out.kernels.push_back(std::move(kernel));
    }
    return {};
}

Status read_solutions(const json& list, StepDocument& out) {
    std::set<std::string> names;
    for (const json& item : list) {
        StepDocument::Solution solution;
        solution.name = item.at("name").get<std::string>();
        solution.kernel = item.at("kernel").get<std::int32_t>();
        solution.parameters = item.value("parameters", json::object()).dump();
        if (!names.insert(solution.name).second) return wrong("solution name \"" + solution.name + "\" occurs twice");
        if (solution.kernel < 0 || static_cast<std::size_t>(solution.kernel) >= out.kernels.size()) {
            return wrong("solution " + solution.name + ": kernel " + std::to_string(solution.kernel) + " of " +
                         std::to_string(out.kernels.size()));
        }
        out.solutions.push_back(std::move(solution));
    }
    return {};
}

}  // namespace

std::map<std::string, std::int32_t> StepDocument::solution_index() const {
    std::map<std::string, std::int32_t> out;
    for (std::size_t i = 0; i < solutions.size(); ++i) out[solutions[i].name] = static_cast<std::int32_t>(i);
    return out;
}

Result<StepDocument> parse_step_document(std::string_view text) {
    try {
        const json document = json::parse(text);
        StepDocument out;
        TUNEFARM_TRY(read_kernels(document.at("kernels"), out));
        TUNEFARM_TRY(read_solutions(document.at("solutions"), out));
        for (const json& item : document.at("problems")) {
            StepDocument::Problem problem;
            problem.name = item.at("name").get<std::string>();
            problem.sizes = item.at("sizes").dump();
            problem.flop = item.value("flop", 0.0);
            problem.json = item.dump();
            out.problems.push_back(std::move(problem));
        }
        return out;
    } catch (const json::exception& e) {
        // "[json.exception.out_of_range.403] key 'kernels' not found": the number means nothing to a driver's author.
        const std::string what = e.what();
        const std::size_t end = what.find("] ");
        return wrong(end == std::string::npos ? what : what.substr(end + 2));
    }
}

}  // namespace tunefarm::server
