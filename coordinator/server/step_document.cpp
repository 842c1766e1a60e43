// SPDX-License-Identifier: MIT
#include "coordinator/server/step_document.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "base/json_tape.h"

namespace tunefarm::server {
namespace {

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

/// What is wrong with a document, while it is read.
struct Malformed {
    std::string what;
};

JsonValue need(const JsonValue& object, const char* key, const std::string& where) {
    const JsonValue value = object.find(key);
    if (!value) throw Malformed{where + " has no '" + key + "'"};
    return value;
}

std::string need_text(const JsonValue& object, const char* key, const std::string& where) {
    const JsonValue value = need(object, key, where);
    if (!value.is_string()) throw Malformed{where + ": '" + key + "' is not a string"};
    return value.text();
}

double number_or(const JsonValue& object, const char* key, double otherwise, const std::string& where) {
    const JsonValue value = object.find(key);
    if (!value) return otherwise;
    if (!value.is_number()) throw Malformed{where + ": '" + key + "' is not a number"};
    return value.number();
}

template <typename Each>
void each_item(const JsonValue& document, const char* key, Each each) {
    const JsonValue list = need(document, key, "the document");
    if (!list.is_array()) throw Malformed{std::string("'") + key + "' is not a list"};
    list.each_element(each);
}

/// Names are not repeated.
class Names {
  public:
    explicit Names(const char* of) : of_(of) {}
    void add(const std::string& name) {
        if (!seen_.insert(name).second) throw Malformed{std::string(of_) + " name \"" + name + "\" occurs twice"};
    }

  private:
    const char* of_;
    std::unordered_set<std::string> seen_;
};

void read_kernels(const JsonValue& document, StepDocument& out) {
    Names names("kernel");
    each_item(document, "kernels", [&](const JsonValue& item) {
        StepDocument::Kernel kernel;
        kernel.name = need_text(item, "name", "a kernel");
        if (!good_name(kernel.name)) {
            throw Malformed{"kernel name \"" + kernel.name + "\" is not [A-Za-z0-9_.-]{1,200}"};
        }
        names.add(kernel.name);
        const JsonValue args = need(item, "args", kernel.name);
        if (!args.is_object()) throw Malformed{"kernel " + kernel.name + ": args is not an object"};
        kernel.args = args.canonical();
        kernel.cost = static_cast<float>(std::clamp(number_or(item, "cost", 1, kernel.name), 1e-3, 1e6));
        out.kernels.push_back(std::move(kernel));
    });
}

void read_solutions(const JsonValue& document, StepDocument& out) {
    Names names("solution");
    each_item(document, "solutions", [&](const JsonValue& item) {
        StepDocument::Solution solution;
        solution.name = need_text(item, "name", "a solution");
        names.add(solution.name);
        const JsonValue kernel = need(item, "kernel", solution.name);
        const auto index = kernel.integer();
        if (!index || *index < 0 || static_cast<std::size_t>(*index) >= out.kernels.size()) {
            throw Malformed{"solution " + solution.name + ": kernel " + std::string(kernel.raw()) + " of " +
                            std::to_string(out.kernels.size())};
        }
        solution.kernel = static_cast<std::int32_t>(*index);
        const JsonValue parameters = item.find("parameters");
        solution.parameters = parameters ? parameters.canonical() : "{}";
        out.solutions.push_back(std::move(solution));
    });
}

void read_problems(const JsonValue& document, StepDocument& out) {
    each_item(document, "problems", [&](const JsonValue& item) {
        StepDocument::Problem problem;
        problem.name = need_text(item, "name", "a problem");
        const JsonValue sizes = need(item, "sizes", problem.name);
        if (!sizes.is_array()) throw Malformed{problem.name + ": sizes is not a list"};
        problem.sizes = sizes.canonical();
        problem.flop = number_or(item, "flop", 0, problem.name);
        if (!(problem.flop >= 0) || !std::isfinite(problem.flop)) {
            throw Malformed{problem.name + ": flop is " + std::string(item.find("flop").raw()) +
                            ", not a finite number from 0 on"};
        }
        problem.json = item.canonical();
        out.problems.push_back(std::move(problem));
    });
}

}  // namespace

std::map<std::string, std::int32_t> StepDocument::solution_index() const {
    std::map<std::string, std::int32_t> out;
    for (std::size_t i = 0; i < solutions.size(); ++i) out[solutions[i].name] = static_cast<std::int32_t>(i);
    return out;
}

Result<StepDocument> parse_step_document(std::string_view text) {
    const auto tape = JsonTape::parse(text);
    if (!tape.ok()) return wrong(tape.error().message);
    try {
        StepDocument out;
        read_kernels(tape->root(), out);
        read_solutions(tape->root(), out);
        read_problems(tape->root(), out);
        return out;
    } catch (const Malformed& malformed) {
        return wrong(malformed.what);
    }
}

}  // namespace tunefarm::server
