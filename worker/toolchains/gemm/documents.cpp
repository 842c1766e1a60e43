// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/documents.h"
#include "worker/toolchains/gemm/json_access.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "worker/toolchains/gemm/generate.h"

namespace tunefarm::gemm {
namespace {

using Json = nlohmann::ordered_json;

/// More rejections than this are counted, not listed: the list is for people.
constexpr std::size_t kMaxListedRejections = 10'000;

bool fail(Failure* failure, std::string message, std::string path = {}, std::vector<std::string> allowed = {}) {
    *failure = Failure{"input", std::move(message), std::move(path), std::move(allowed), {}};
    return false;
}

Json sizes_json(const Problem& p) {
    Json sizes = Json::array({p.m, p.n, p.batch, p.k});
    if (p.ldd != 0 || p.ldc != 0 || p.lda != 0 || p.ldb != 0) {
        for (const std::int64_t ld : {p.ldd, p.ldc, p.lda, p.ldb}) sizes.push_back(ld);
    }
    return sizes;
}

Json type_json(const ProblemType& type) {
    return Json{{"DataType", std::string(1, to_char(type.type))},
                {"TransposeA", type.transpose_a},
                {"TransposeB", type.transpose_b},
                {"UseBeta", type.use_beta},
                {"Batched", type.batched}};
}

bool read_type_json(const Json& json, ProblemType* type, Failure* failure) {
    if (!json.is_object()) return fail(failure, "no problem type in the document");
    const auto flag = [&json](const char* key, bool* out) {
        if (!json.contains(key) || !json[key].is_boolean()) return false;
        *out = json[key].get<bool>();
        return true;
    };
    const bool named = json.contains("DataType") && json["DataType"].is_string();
    const auto data = named ? parse_data_type(json["DataType"].get<std::string>()) : std::nullopt;
    if (!data || !flag("TransposeA", &type->transpose_a) || !flag("TransposeB", &type->transpose_b) ||
        !flag("UseBeta", &type->use_beta) || !flag("Batched", &type->batched)) {
        return fail(failure, "the problem type in the document is not what prepare writes");
    }
    type->type = *data;
    return true;
}

Json parameters_json(const Point& point, const Target& target) {
    Json json = Json::object();
    for (std::size_t i = 0; i < kParameters; ++i) {
        const ParameterInfo& info = parameters()[i];
        if (target.gpu ? info.on_gpu : info.on_cpu) json[info.name] = point[i];
    }
    return json;
}

/// Effort relative to a typical kernel: the compiler's time grows with the unrolled inner loop.
double build_cost(const Point& p, const Target& target) {
    const double tile = static_cast<double>(p[kThreadTile0]) * p[kThreadTile1];
    if (target.gpu) return std::clamp(0.5 + tile * p[kDepthU] / 512, 0.5, 20.0);
    return std::clamp(0.7 + tile / p[kVectorWidth] * p[kUnrollK] / 320, 0.5, 20.0);
}

}  // namespace

Json split_result(const std::vector<Unit>& units) {
    Json list = Json::array();
    for (const Unit& unit : units) {
        Json sizes = Json::array();
        for (const Problem& problem : unit.problems) sizes.push_back(sizes_json(problem));
        list.push_back(Json{{"index", unit.index},
                            {"entry", unit.entry},
                            {"group", unit.group},
                            {"problem", unit.type.name()},
                            {"group_name", unit.group_name()},
                            {"cache_key", unit.cache_key},
                            {"fork_permutations", unit.permutations},
                            {"size_entries", unit.size_entries},
                            {"problem_sizes", std::move(sizes)},
                            {"custom_kernels", Json::array()},
                            {"result_driven", false}});
    }
    return Json{{"units", std::move(list)}};
}

bool prepare_step(const Unit& unit, const Target& target,
                  const std::function<void(std::uint64_t, std::uint64_t)>& progress, Prepared* prepared,
                  Failure* failure) {
    if (!target.offers(unit.type.type)) {
        std::vector<std::string> offered;
        for (const DataType type : {DataType::kFloat, DataType::kDouble, DataType::kHalf}) {
            if (target.offers(type)) offered.emplace_back(1, static_cast<char>(to_char(type) + 32));
        }
        return fail(failure, fmt::format("data type {} is not offered on {}", to_char(unit.type.type), target.name),
                    fmt::format("BenchmarkProblems[{}][0].DataType", unit.entry), std::move(offered));
    }
    const std::string path = fmt::format("BenchmarkProblems[{}][{}].ForkParameters", unit.entry, unit.group + 1);
    if (unit.permutations > kMaxPermutations) {
        return fail(
            failure,
            fmt::format("{} permutations; an exhaustive step may have {}: fork fewer values, or split the group",
                        unit.permutations, kMaxPermutations),
            path, {fmt::format("at most {} permutations", kMaxPermutations)});
    }
    Json kernels = Json::array();
    Json solutions = Json::array();
    Json rejected = Json::array();
    std::set<Point> seen;
    std::string first_reason;
    for (std::uint64_t i = 0; i < unit.permutations; ++i) {
        if (progress && i % 50'000 == 49'999) progress(i, unit.permutations);
        const Point point = resolve(unit.permutation(i), unit.type, target);
        if (auto reason = invalid_reason(point, unit.type, target)) {
            if (prepared->rejected++ == 0) first_reason = *reason;
            if (rejected.size() < kMaxListedRejections)
                rejected.push_back(Json{{"permutation", i}, {"reason", *reason}});
            continue;
        }
        if (!seen.insert(point).second) {
            ++prepared->duplicates;
            continue;
        }
        const std::string name = kernel_name(unit.type, point, target);
        kernels.push_back(
            Json{{"name", name}, {"args", kernel_args(unit.type, point, target)}, {"cost", build_cost(point, target)}});
        solutions.push_back(
            Json{{"name", name}, {"kernel", kernels.size() - 1}, {"parameters", parameters_json(point, target)}});
    }
    prepared->permutations = unit.permutations;
    prepared->kernels = kernels.size();
    if (kernels.empty()) {
        return fail(failure,
                    fmt::format("all {} permutations are rejected on {}; the first: {}", unit.permutations, target.name,
                                first_reason),
                    path);
    }
    Json problems = Json::array();
    for (const Problem& problem : unit.problems) {
        problems.push_back(Json{{"name", problem.name()}, {"sizes", sizes_json(problem)}, {"flop", problem.flop()}});
    }
    const Json document{{"version", 1},
                        {"toolchain", "gemm"},
                        {"target", target.name},
                        {"group_name", unit.group_name()},
                        {"cache_key", unit.cache_key},
                        {"problem_type", type_json(unit.type)},
                        {"kernels", std::move(kernels)},
                        {"solutions", std::move(solutions)},
                        {"problems", std::move(problems)},
                        {"rejected", std::move(rejected)}};
    prepared->document = document.dump() + "\n";
    prepared->helper = generate_helper(unit.type.type);
    return true;
}

Json kernel_args(const ProblemType& type, const Point& point, const Target& target) {
    Json args{{"ProblemType", type_json(type)}};
    const Json point_json = parameters_json(point, target);
    for (const auto& [name, value] : point_json.items()) args[name] = value;
    return args;
}

bool read_kernel_args(const Json& args, const Target& target, ProblemType* type, Point* point, Failure* failure) {
    if (!args.is_object()) return fail(failure, "the kernel has no args");
    if (!read_type_json(member(args, "ProblemType"), type, failure)) return false;
    *point = automatic_point();
    for (const auto& [name, value] : args.items()) {
        if (name == "ProblemType") continue;
        const auto which = find_parameter(name);
        if (!which) return fail(failure, "unknown parameter " + name + " in the kernel's args");
        const bool fits = value.is_number_integer() && value >= -1 && value <= (1 << 20);
        if (!fits || !parameters()[*which].allows(value.get<std::int64_t>())) {
            return fail(failure, "the kernel's args have no valid " + name, {}, {parameters()[*which].allowed_text()});
        }
        (*point)[*which] = value.get<int>();
    }
    *point = resolve(*point, *type, target);
    if (const auto reason = invalid_reason(*point, *type, target)) return fail(failure, *reason);
    return true;
}

bool make_manifest(const Json& step, const std::vector<std::string>& built, const Target& target, std::string* manifest,
                   Failure* failure) {
    const std::set<std::string> names(built.begin(), built.end());
    const Json& kernels = member(step, "kernels");
    const Json& solutions = member(step, "solutions");
    if (!kernels.is_array() || !solutions.is_array())
        return fail(failure, "the step document has no kernels and solutions");
    Json list = Json::array();
    for (const Json& solution : solutions) {
        const Json& index = member(solution, "kernel");
        if (!index.is_number_unsigned() || index.get<std::size_t>() >= kernels.size()) {
            return fail(failure, "a solution of the step document names no kernel");
        }
        const Json& kernel = kernels[index.get<std::size_t>()];
        if (names.count(text_of(kernel, "name")) == 0) continue;
        ProblemType type;
        Point point{};
        if (!read_kernel_args(member(kernel, "args"), target, &type, &point, failure)) return false;
        Json entry{{"name", text_of(solution, "name")},
                   {"symbol", kernel_name(type, point, target)},
                   {"parameters", member(solution, "parameters")}};
        if (target.gpu) {
            const int threads = (point[kMacroTile0] / point[kThreadTile0]) * (point[kMacroTile1] / point[kThreadTile1]);
            entry["work_group"] = Json::array({threads, 1, 1});
            entry["tile"] = Json::array({point[kMacroTile0], point[kMacroTile1]});
            entry["lds_bytes"] = lds_bytes(point, type);
        } else {
            entry["workspace"] = workspace_bytes(point, type, target);
        }
        list.push_back(std::move(entry));
    }
    if (list.empty()) return fail(failure, "no kernel of the step was built");
    const Json document{{"version", 1},
                        {"toolchain", "gemm"},
                        {"target", target.name},
                        {"group_name", member(step, "group_name")},
                        {"problem_type", member(step, "problem_type")},
                        {"solutions", std::move(list)},
                        {"problems", member(step, "problems")}};
    *manifest = document.dump() + "\n";
    return true;
}

bool read_measure_request(const Json& manifest, const Json& args, BenchRequest* request, Failure* failure) {
    if (!read_type_json(member(manifest, "problem_type"), &request->type, failure)) return false;
    std::map<std::string, std::size_t> index;
    const Json& solutions = member(manifest, "solutions");
    if (!solutions.is_array()) return fail(failure, "the manifest has no solutions");
    for (const Json& solution : solutions) {
        const Json& workspace = member(solution, "workspace");
        const std::int64_t bytes = workspace.is_number_integer() ? workspace.get<std::int64_t>() : -1;
        if (bytes < 0 || bytes > (std::int64_t{1} << 30))
            return fail(failure, "the manifest's solution has no valid workspace");
        index.emplace(text_of(solution, "name"), request->solutions.size());
        request->solutions.push_back(BenchSolution{text_of(solution, "name"), text_of(solution, "symbol"), bytes});
    }
    const Json& problem = member(args, "problem");
    const Json& sizes = problem.is_array() ? problem : member(problem, "sizes");
    if (!sizes.is_array() || (sizes.size() != 4 && sizes.size() != 8))
        return fail(failure, "args.problem has no sizes [M, N, batch, K]");
    std::array<std::int64_t, 8> n{};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (!sizes[i].is_number_integer() || sizes[i] < 0 || sizes[i] > kMaxExtent)
            return fail(failure, "args.problem.sizes is out of range");
        n[i] = sizes[i].get<std::int64_t>();
    }
    request->problem = Problem{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]};
    const Json& order = member(args, "order");
    if (!order.is_array()) return fail(failure, "args.order is not a list of solutions");
    for (const Json& name : order) {
        const auto found = name.is_string() ? index.find(name.get<std::string>()) : index.end();
        if (found == index.end())
            return fail(failure, "args.order names a solution that is not in the bundle: " + name.dump());
        request->order.push_back(found->second);
    }
    const Json& repeats = member(args, "repeats");
    if (!repeats.is_null() && (!repeats.is_number_integer() || repeats < 1 || repeats > 1'000'000))
        return fail(failure, "args.repeats is out of range");
    request->repeats = repeats.is_null() ? 1 : repeats.get<int>();
    const Json& cpus = member(args, "cpus");
    if (cpus.is_array()) {
        for (const Json& cpu : cpus) {
            if (!cpu.is_number_integer() || cpu < 0 || cpu > 1 << 16)
                return fail(failure, "args.cpus is not a list of CPU numbers");
            request->cpus.push_back(cpu.get<int>());
        }
    }
    const Json& seed = member(args, "seed");
    if (seed.is_number_integer()) request->seed = seed.get<std::uint64_t>();
    return true;
}

}  // namespace tunefarm::gemm
