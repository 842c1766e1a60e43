// SPDX-License-Identifier: MIT
#include "coordinator/plan/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "base/files.h"
#include "coordinator/plan/global_parameters.h"
#include "coordinator/plan/json_text.h"
#include "coordinator/plan/parameter_names.h"
#include "coordinator/plan/permutations.h"

namespace tunefarm::plan {
namespace {

using namespace std::string_view_literals;

constexpr std::array kGroupKeys{"InitialSolutionParameters"sv,
                                "BenchmarkCommonParameters"sv,
                                "ForkParameters"sv,
                                "BenchmarkForkParameters"sv,
                                "JoinParameters"sv,
                                "BenchmarkJoinParameters"sv,
                                "BenchmarkFinalParameters"sv,
                                "CustomKernels"sv,
                                "InternalSupportParams"sv};
constexpr std::array kRetiredKeys{"InitialSolutionParameters"sv, "BenchmarkForkParameters"sv, "JoinParameters"sv,
                                  "BenchmarkJoinParameters"sv};
constexpr std::array kFinalKeys{"ProblemSizes"sv,   "BiasTypeArgs"sv, "FactorDimArgs"sv,
                                "ActivationArgs"sv, "ICacheFlush"sv,  "GateTypeArgs"sv};
constexpr std::array kSupportKeys{"KernArgsVersion"sv,       "SupportUserGSU"sv,   "SupportCustomWGM"sv,
                                  "SupportCustomStaggerU"sv, "UseUniversalArgs"sv, "UseSFC"sv};
constexpr std::array kLogicKeys{"ScheduleName"sv, "ArchitectureName"sv,      "DeviceNames"sv,
                                "LibraryType"sv,  "SolutionImportanceMin"sv, "CUCount"sv};
constexpr std::array kBackends{"Tensile"sv, "Ductile"sv};
/// Of operations and data types.
constexpr std::size_t kMaxTypeName = 100;
constexpr std::string_view kDefaultToolchain = "tensilelite";
constexpr std::string_view kDefaultBackend = "Tensile";

template <typename Range>
bool contains(const Range& range, std::string_view text) {
    return std::find(range.begin(), range.end(), text) != range.end();
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

/// A name that may become a file's name: no separators, not hidden, not "..".
bool is_name(std::string_view text, std::size_t limit) {
    return !text.empty() && text.size() <= limit && text[0] != '.' && text[0] != '-' &&
           std::all_of(text.begin(), text.end(), [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                      c == '-' || c == '.' || c == '+';
           });
}

bool is_printable(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool truthy(const YamlNode* node) {
    if (node == nullptr) return false;
    switch (node->kind) {
        case YamlKind::kBool: return node->boolean;
        case YamlKind::kInt:
        case YamlKind::kFloat: return node->number != 0.0;
        case YamlKind::kString: return !node->text.empty();
        default: return false;
    }
}

class Loader {
  public:
    Loader(std::string path, std::shared_ptr<const YamlTree> tree) {
        config_.path = std::move(path);
        config_.tree = std::move(tree);
    }

    Result<Config> run();

  private:
    Error error(Mark mark, std::string_view key, const std::string& what) const {
        return {ErrorKind::kInput, fmt::format("{}:{}:{}: {}{}{}", config_.path, mark.line, mark.column,
                                               for_people(key, 200), key.empty() ? "" : ": ", for_people(what, 1000))};
    }
    Error wrong_type(const YamlNode& node, std::string_view key, std::string_view expected) const {
        return error(node.mark, key, fmt::format("must be {}, not {}", expected, to_string(node.kind)));
    }
    bool tensilelite() const { return config_.toolchain == kDefaultToolchain; }

    Status plain_data(const YamlNode& node) const;
    Status toolchain(const YamlNode& root);
    Status test_parameters(const YamlNode* node);
    Status global_parameters(const YamlNode* node) const;
    Status backend(const YamlNode* node);
    Status library_logic(const YamlNode* node) const;
    Status benchmark_problems(const YamlNode* node);
    Status problem_type(const YamlNode& node) const;
    Status step(const YamlNode& type, const YamlNode& body);
    Status parameters(const YamlNode* list, std::string_view key, std::vector<Parameter>& out,
                      std::vector<GroupAxis>* groups) const;
    Status values(const YamlEntry& entry, std::string_view key, Parameter& out) const;
    Status group_axes(const YamlEntry& entry, std::vector<GroupAxis>& out) const;
    Status parameter_name(const YamlNode& key, std::string_view where) const;
    Status custom_kernels(const YamlNode& body, Step& out) const;
    Status final_parameters(const YamlNode& body, Step& out);

    Config config_;
    std::uint64_t size_budget_ = kMaxSizesPerConfig;
};

/// Everything that a driver gets to see must be representable in JSON.
Status Loader::plain_data(const YamlNode& node) const {
    if (node.is(YamlKind::kFloat) && !std::isfinite(node.number)) return error(node.mark, "", "numbers must be finite");
    for (const YamlNode* item : node.items) TUNEFARM_TRY(plain_data(*item));
    for (const YamlEntry& entry : node.entries) {
        if (!entry.key->is(YamlKind::kString)) {
            return error(entry.key->mark, entry.key->text, "keys must be text; quote it");
        }
        TUNEFARM_TRY(plain_data(*entry.value));
    }
    return {};
}

Result<Config> Loader::run() {
    const YamlNode& root = config_.tree->root();
    if (root.is_null()) return error(Mark{1, 1}, "", "the file is empty; a config needs BenchmarkProblems");
    if (!root.is(YamlKind::kMap)) {
        return error(root.mark, "",
                     fmt::format("a config is a map with the key BenchmarkProblems, not {}", to_string(root.kind)));
    }
    for (const char* key : {"GlobalParameters", "BenchmarkProblems", "LibraryLogic", "Backend", "TestParameters"}) {
        if (const YamlNode* part = root.find(key)) TUNEFARM_TRY(plain_data(*part));
    }
    TUNEFARM_TRY(toolchain(root));
    TUNEFARM_TRY(test_parameters(root.find("TestParameters")));
    TUNEFARM_TRY(global_parameters(root.find("GlobalParameters")));
    TUNEFARM_TRY(backend(root.find("Backend")));
    TUNEFARM_TRY(library_logic(root.find("LibraryLogic")));
    TUNEFARM_TRY(benchmark_problems(root.find("BenchmarkProblems")));
    return std::move(config_);
}

Status Loader::toolchain(const YamlNode& root) {
    config_.toolchain = kDefaultToolchain;
    const YamlNode* node = root.find("Toolchain");
    if (node == nullptr) return {};
    if (!node->is(YamlKind::kString) || !is_name(node->text, 32)) {
        return error(node->mark, "Toolchain", "must be a toolchain's name, such as gemm or tensilelite");
    }
    config_.toolchain = node->text;
    return {};
}

Status Loader::test_parameters(const YamlNode* node) {
    if (node == nullptr || node->is_null()) return {};
    if (!node->is(YamlKind::kMap)) return wrong_type(*node, "TestParameters", "a map");
    const YamlNode* marks = node->find("marks");
    if (marks == nullptr || marks->is_null()) return {};
    if (!marks->is(YamlKind::kList)) return wrong_type(*marks, "TestParameters.marks", "a list of text");
    for (const YamlNode* mark : marks->items) {
        if (!mark->is(YamlKind::kString)) return wrong_type(*mark, "TestParameters.marks", "text");
        config_.marks.push_back(mark->text);
    }
    return {};
}

Status Loader::global_parameters(const YamlNode* node) const {
    if (node == nullptr || node->is_null()) return {};
    if (!node->is(YamlKind::kMap)) return wrong_type(*node, "GlobalParameters", "a map");
    for (const YamlEntry& entry : node->entries) {
        const std::string problem = check_global_parameter(entry.key->text, *entry.value);
        if (!problem.empty()) return error(entry.key->mark, "GlobalParameters." + entry.key->text, problem);
    }
    return {};
}

Status Loader::backend(const YamlNode* node) {
    config_.backend = kDefaultBackend;
    if (node == nullptr || node->is_null()) return {};
    if (!node->is(YamlKind::kMap)) return wrong_type(*node, "Backend", "a map with Name and Config");
    for (const YamlEntry& entry : node->entries) {
        const std::string& key = entry.key->text;
        if (key == "Name") {
            const YamlNode& name = *entry.value;
            if (!name.is(YamlKind::kString) || !is_name(name.text, 32))
                return wrong_type(name, "Backend.Name", "a name");
            const bool known = lower(name.text) == "tensile" || lower(name.text) == "ductile";
            if (tensilelite() && !known) {
                return error(name.mark, "Backend.Name",
                             fmt::format("{} is not a backend{}", name.text, suggestion(name.text, kBackends)));
            }
            config_.backend = name.text;
        } else if (key == "Config") {
            if (entry.value->is_null()) continue;
            if (!entry.value->is(YamlKind::kMap)) return wrong_type(*entry.value, "Backend.Config", "a map");
            for (const YamlEntry& option : entry.value->entries) {
                const std::string& name = option.key->text;
                std::string capital = name;
                if (!capital.empty() && capital[0] >= 'a' && capital[0] <= 'z')
                    capital[0] = static_cast<char>(capital[0] - 'a' + 'A');
                if (names_host_things(capital) || option.value->text.find('/') != std::string::npos) {
                    return error(
                        option.key->mark, "Backend.Config." + name,
                        "names a program, a path or extra arguments; each worker sets those itself and no config may: "
                        "remove the key");
                }
            }
        } else {
            constexpr std::array kKeys{"Name"sv, "Config"sv};
            return error(entry.key->mark, "Backend." + key, "is not allowed" + suggestion(key, kKeys));
        }
    }
    return {};
}

Status Loader::library_logic(const YamlNode* node) const {
    if (node == nullptr || node->is_null()) return {};
    if (!node->is(YamlKind::kMap)) return wrong_type(*node, "LibraryLogic", "a map");
    for (const YamlEntry& entry : node->entries) {
        const std::string& key = entry.key->text;
        if (!contains(kLogicKeys, key)) {
            return error(entry.key->mark, "LibraryLogic." + key, "is not allowed" + suggestion(key, kLogicKeys));
        }
        // These two become names of files.
        if (key == "ScheduleName" || (key == "ArchitectureName" && entry.value->is(YamlKind::kString))) {
            if (!is_name(entry.value->text, 64)) {
                return error(entry.value->mark, "LibraryLogic." + key,
                             "must be a short name of letters, digits, _, -, . and +");
            }
        }
    }
    return {};
}

Status Loader::benchmark_problems(const YamlNode* node) {
    constexpr std::string_view kKey = "BenchmarkProblems";
    if (node == nullptr) {
        return error(config_.tree->root().mark, kKey,
                     "is missing; it lists [problem type, problem-size group, ...] entries");
    }
    if (!node->is(YamlKind::kList)) return wrong_type(*node, kKey, "a list of [problem type, problem-size group, ...]");
    if (node->items.empty()) return error(node->mark, kKey, "must not be empty");
    static const YamlNode kNoGroup = [] {
        YamlNode empty;
        empty.kind = YamlKind::kMap;
        return empty;
    }();
    for (std::uint32_t entry = 0; entry < node->items.size(); ++entry) {
        const YamlNode& problem = *node->items[entry];
        const std::string key = fmt::format("{}[{}]", kKey, entry);
        if (!problem.is(YamlKind::kList))
            return wrong_type(problem, key, "a list: problem type, then problem-size groups");
        if (problem.items.empty()) return error(problem.mark, key, "must begin with a problem type");
        TUNEFARM_TRY(problem_type(*problem.items[0]));
        const std::size_t groups = std::max<std::size_t>(problem.items.size(), 2) - 1;
        for (std::uint32_t group = 0; group < groups; ++group) {
            const YamlNode& body = group + 1 < problem.items.size() ? *problem.items[group + 1] : kNoGroup;
            if (config_.steps.size() >= 100'000) return error(body.mark, key, "a config may have 100000 steps");
            Step& step = config_.steps.emplace_back();
            step.index = static_cast<std::uint32_t>(config_.steps.size() - 1);
            step.entry = entry;
            step.group = group;
            TUNEFARM_TRY(this->step(*problem.items[0], body));
        }
    }
    return {};
}

Status Loader::problem_type(const YamlNode& node) const {
    if (!node.is(YamlKind::kMap))
        return wrong_type(node, "problem type", "a map such as {OperationType: GEMM, DataType: S}");
    const YamlNode* type = node.find("DataType");
    if (type == nullptr) return error(node.mark, "problem type", "needs DataType, such as S, H or B");
    if (!type->is(YamlKind::kString) && !type->is(YamlKind::kInt))
        return wrong_type(*type, "DataType", "text such as S, H or B");
    for (const char* key :
         {"TransposeA", "TransposeB", "Batched", "UseBeta", "GroupedGemm", "HighPrecisionAccumulate"}) {
        const YamlNode* flag = node.find(key);
        if (flag != nullptr && !flag->is(YamlKind::kBool) && !flag->is(YamlKind::kInt))
            return wrong_type(*flag, key, "true or false");
    }
    if (const YamlNode* operation = node.find("OperationType");
        operation != nullptr && !operation->is(YamlKind::kString)) {
        return wrong_type(*operation, "OperationType", "text such as GEMM");
    }
    // They name the step in every table and on every terminal.
    for (const char* key : {"OperationType", "DataType", "DestDataType", "ComputeDataType"}) {
        const YamlNode* word = node.find(key);
        const bool fits = word == nullptr || (word->text.size() <= kMaxTypeName && is_printable(word->text));
        if (!fits) return error(word->mark, key, fmt::format("must be at most {} printable bytes", kMaxTypeName));
    }
    return {};
}

std::string operation_of(const YamlNode& type) {
    const YamlNode* operation = type.find("OperationType");
    return operation == nullptr ? "GEMM" : operation->text;
}

/// "GEMM TN H/H/S batched bias": enough for a person to tell the steps of a config apart.
std::string describe(const YamlNode& type) {
    const auto text = [&](const char* key) {
        const YamlNode* node = type.find(key);
        return node == nullptr ? std::string() : node->text;
    };
    std::string out = operation_of(type);
    if (out == "GEMM") {
        out += truthy(type.find("TransposeA")) ? " T" : " N";
        // Upstream's default transposes B.
        out += type.find("TransposeB") == nullptr || truthy(type.find("TransposeB")) ? "T" : "N";
    }
    out += " " + text("DataType");
    const std::string destination = text("DestDataType");
    const std::string compute = text("ComputeDataType");
    if (!destination.empty() || !compute.empty()) {
        out += "/" + (destination.empty() ? text("DataType") : destination);
        if (!compute.empty()) out += "/" + compute;
    }
    constexpr std::array<std::pair<const char*, const char*>, 9> kFlags{{{"Batched", "batched"},
                                                                         {"GroupedGemm", "grouped"},
                                                                         {"Sparse", "sparse"},
                                                                         {"UseBias", "bias"},
                                                                         {"Activation", "activation"},
                                                                         {"UseScaleAlphaVec", "scale-alpha"},
                                                                         {"UseScaleAB", "scale-AB"},
                                                                         {"UseE", "E"},
                                                                         {"Gradient", "gradient"}}};
    for (const auto& [key, word] : kFlags) {
        if (truthy(type.find(key))) out += std::string(" ") + word;
    }
    return out;
}

Status Loader::step(const YamlNode& type, const YamlNode& body) {
    Step& step = config_.steps.back();
    step.problem_type = &type;
    step.body = &body;
    step.problem = describe(type);
    step.result_driven = lower(config_.backend) != "tensile";
    const std::string place = fmt::format("BenchmarkProblems[{}][{}]", step.entry, step.group + 1);
    if (!body.is(YamlKind::kMap)) return wrong_type(body, place, "a map, the problem-size group");
    for (const YamlEntry& entry : body.entries) {
        const std::string& key = entry.key->text;
        if (!contains(kGroupKeys, key))
            return error(entry.key->mark, key, "is not allowed in a problem-size group" + suggestion(key, kGroupKeys));
        if (contains(kRetiredKeys, key) && !entry.value->is_null()) {
            return error(entry.key->mark, key, "is no longer supported; leave it empty or remove it");
        }
    }
    TUNEFARM_TRY(parameters(body.find("BenchmarkCommonParameters"), "BenchmarkCommonParameters", step.common, nullptr));
    TUNEFARM_TRY(parameters(body.find("ForkParameters"), "ForkParameters", step.forks, &step.groups));
    TUNEFARM_TRY(custom_kernels(body, step));
    TUNEFARM_TRY(final_parameters(body, step));
    std::vector<std::uint64_t> lengths;
    for (const Parameter& parameter : overlay(step.common, step.forks)) lengths.push_back(parameter.values.size());
    for (const GroupAxis& axis : step.groups) lengths.push_back(axis.size());
    const Result<std::uint64_t> count = product(lengths);
    if (!count) {
        const YamlEntry* forks = body.entry("ForkParameters");
        return error(forks == nullptr ? body.mark : forks->key->mark, "ForkParameters", count.error().message);
    }
    step.fork_permutations = *count;
    return {};
}

Status Loader::parameter_name(const YamlNode& key, std::string_view where) const {
    if (!tensilelite() || contains(tensilelite_parameters(), key.text)) return {};
    return error(key.mark, fmt::format("{}.{}", where, key.text),
                 "is not a parameter of TensileLite" + suggestion(key.text, tensilelite_parameters()));
}

Status Loader::parameters(const YamlNode* list, std::string_view key, std::vector<Parameter>& out,
                          std::vector<GroupAxis>* groups) const {
    if (list == nullptr || list->is_null()) return {};
    if (!list->is(YamlKind::kList)) return wrong_type(*list, key, "a list of maps such as - DepthU: [16, 32]");
    for (const YamlNode* item : list->items) {
        if (!item->is(YamlKind::kMap)) return wrong_type(*item, key, "a list of maps such as - DepthU: [16, 32]");
        for (const YamlEntry& entry : item->entries) {
            if (groups != nullptr && entry.key->text == "Groups") {
                groups->clear();
                TUNEFARM_TRY(group_axes(entry, *groups));
                continue;
            }
            TUNEFARM_TRY(parameter_name(*entry.key, key));
            const auto same =
                std::find_if(out.begin(), out.end(), [&](const Parameter& p) { return p.name == entry.key->text; });
            Parameter& parameter = same == out.end() ? out.emplace_back() : *same;
            parameter.name = entry.key->text;
            TUNEFARM_TRY(values(entry, key, parameter));
        }
    }
    return {};
}

Status Loader::values(const YamlEntry& entry, std::string_view key, Parameter& out) const {
    const std::string name = fmt::format("{}.{}", key, entry.key->text);
    const YamlNode& list = *entry.value;
    if (list.is_null()) return error(entry.key->mark, name, "has no value; give a list such as [1, 2]");
    if (!list.is(YamlKind::kList)) return wrong_type(list, name, "a list of values");
    if (list.items.empty()) return error(list.mark, name, "must list at least one value");
    for (const YamlNode* value : list.items) {
        if (value->is_null()) return error(value->mark, name, "a value must not be null");
        if (out.name == "CustomKernelName" && !value->text.empty() && !is_name(value->text, 200)) {
            return error(value->mark, name, "must be the name of a kernel, not a path");
        }
    }
    out.values = list.items;
    return {};
}

Status Loader::group_axes(const YamlEntry& entry, std::vector<GroupAxis>& out) const {
    constexpr std::string_view kKey = "ForkParameters.Groups";
    const YamlNode& axes = *entry.value;
    if (axes.is_null()) return error(entry.key->mark, kKey, "has no value; give a list of lists of maps");
    if (!axes.is(YamlKind::kList)) return wrong_type(axes, kKey, "a list of lists of maps");
    for (const YamlNode* axis : axes.items) {
        if (!axis->is(YamlKind::kList)) return wrong_type(*axis, kKey, "a list of lists of maps");
        if (axis->items.empty()) return error(axis->mark, kKey, "an axis must list at least one map");
        for (const YamlNode* element : axis->items) {
            if (!element->is(YamlKind::kMap)) return wrong_type(*element, kKey, "a list of lists of maps");
            for (const YamlEntry& setting : element->entries) {
                TUNEFARM_TRY(parameter_name(*setting.key, kKey));
                if (setting.value->is_null()) {
                    return error(setting.key->mark, fmt::format("{}.{}", kKey, setting.key->text), "has no value");
                }
            }
        }
        out.push_back(axis->items);
    }
    return {};
}

Status Loader::custom_kernels(const YamlNode& body, Step& out) const {
    const YamlNode* list = body.find("CustomKernels");
    if (list != nullptr && !list->is_null()) {
        if (!list->is(YamlKind::kList)) return wrong_type(*list, "CustomKernels", "a list of names, or [\"*\"]");
        for (const YamlNode* name : list->items) {
            const bool all = name->is(YamlKind::kString) && name->text == "*" && list->items.size() == 1;
            if (!all && (!name->is(YamlKind::kString) || !is_name(name->text, 200))) {
                return error(name->mark, "CustomKernels",
                             "must hold names of kernels, not paths; \"*\" alone means all");
            }
            out.custom_kernels.push_back(name->text);
        }
    }
    const YamlEntry* support = body.entry("InternalSupportParams");
    if (support == nullptr || support->value->is_null()) return {};
    if (!support->value->is(YamlKind::kMap)) return wrong_type(*support->value, "InternalSupportParams", "a map");
    for (const YamlEntry& entry : support->value->entries) {
        const std::string& key = entry.key->text;
        if (!contains(kSupportKeys, key)) {
            return error(entry.key->mark, "InternalSupportParams." + key,
                         "is not allowed" + suggestion(key, kSupportKeys));
        }
    }
    if (out.custom_kernels.empty() && !support->value->entries.empty()) {
        return error(support->key->mark, "InternalSupportParams",
                     "is only for custom kernels; add CustomKernels or remove it");
    }
    return {};
}

Status Loader::final_parameters(const YamlNode& body, Step& out) {
    constexpr std::string_view kKey = "BenchmarkFinalParameters";
    const bool batched = truthy(out.problem_type->find("Batched"));
    const YamlEntry* entry = body.entry(kKey);
    if (entry == nullptr) {
        out.problem_sizes = default_problem_sizes(batched || !tensilelite());
        return {};
    }
    const YamlNode& list = *entry->value;
    if (!list.is(YamlKind::kList) || list.items.empty()) {
        return error(entry->key->mark, kKey, "must be a list that begins with ProblemSizes");
    }
    std::set<std::string_view> seen;
    for (const YamlNode* item : list.items) {
        if (!item->is(YamlKind::kMap)) return wrong_type(*item, kKey, "a list of maps");
        for (const YamlEntry& part : item->entries) {
            const std::string& key = part.key->text;
            const std::string name = fmt::format("{}.{}", kKey, key);
            if (!contains(kFinalKeys, key))
                return error(part.key->mark, name, "is not allowed" + suggestion(key, kFinalKeys));
            if (!seen.insert(key).second) return error(part.key->mark, name, "is duplicated; give each kind once");
            if (key != "ProblemSizes" && !part.value->is(YamlKind::kList))
                return wrong_type(*part.value, name, "a list");
        }
    }
    const YamlNode* sizes = list.items[0]->find("ProblemSizes");
    if (sizes == nullptr) return error(list.items[0]->mark, kKey, "the first entry must be ProblemSizes");
    SizeShape shape;
    if (operation_of(*out.problem_type) != "GEMM") {
        shape = {1, 16, false};
    } else if (batched) {
        shape = {4, 4, true};
    } else {
        // Unbatched TensileLite problems have no batch index; other toolchains may count one.
        shape = {3, tensilelite() ? std::size_t{3} : std::size_t{4}, true};
    }
    TUNEFARM_ASSIGN(out.problem_sizes, expand_problem_sizes(*sizes, shape, config_.path, size_budget_));
    return {};
}

}  // namespace

Result<Config> parse_config(std::string_view bytes, const std::string& path) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
    TUNEFARM_ASSIGN(auto tree, parse_yaml(bytes, path));
    return Loader(path, std::move(tree)).run();
}

Result<Config> load_config(const std::string& path) {
    const Result<std::string> bytes = read_file(path, static_cast<std::int64_t>(YamlLimits{}.bytes));
    if (!bytes) return bytes.error();
    return parse_config(*bytes, path);
}

}  // namespace tunefarm::plan
