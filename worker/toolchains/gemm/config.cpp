// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/digest.h"
#include "worker/toolchains/gemm/sizes.h"

namespace tunefarm::gemm {
namespace {

using Json = nlohmann::ordered_json;

bool fail(Failure* failure, std::string path, std::string message, std::vector<std::string> allowed = {}) {
    failure->klass = "input";
    failure->path = std::move(path);
    failure->message = std::move(message);
    failure->allowed = std::move(allowed);
    return false;
}

bool is_absent(const Json& value) {
    return value.is_null() || ((value.is_array() || value.is_object()) && value.empty());
}

/// A short quotation of a value for messages; never more than 60 bytes, never deep.
std::string quote(const Json& value) {
    if (value.is_object()) return "a mapping";
    if (value.is_array()) return "a list";
    std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return text;
}

bool read_flag(const Json& value, const std::string& path, bool* flag, Failure* failure) {
    if (value.is_boolean()) {
        *flag = value.get<bool>();
        return true;
    }
    if (value.is_number_integer() && (value == 0 || value == 1)) {
        *flag = value == 1;
        return true;
    }
    return fail(failure, path, "expected a truth value, not " + quote(value), {"True", "False"});
}

bool read_type(const Json& value, const std::string& path, DataType* type, Failure* failure) {
    std::optional<DataType> parsed;
    if (value.is_string()) parsed = parse_data_type(value.get_ref<const std::string&>());
    // TensileLite's numbers for the same.
    if (value == 0) parsed = DataType::kFloat;
    if (value == 1) parsed = DataType::kDouble;
    if (value == 4) parsed = DataType::kHalf;
    if (!parsed) return fail(failure, path, "unknown data type " + quote(value), {"s", "d", "h"});
    *type = *parsed;
    return true;
}

/// Switches of TensileLite's problem types that this toolchain lacks; they are fine where they are off.
bool is_off(const Json& value) {
    return value.is_null() || value == false || value == 0 || value == "none" || value == "None" ||
           ((value.is_array() || value.is_object()) && value.empty());
}

bool read_problem_type(const Json& dict, const std::string& path, ProblemType* type, Failure* failure) {
    static const std::vector<std::string> kKnown{
        "OperationType", "DataType",   "DestDataType", "ComputeDataType", "HighPrecisionAccumulate",
        "TransposeA",    "TransposeB", "UseBeta",      "Batched"};
    static const std::set<std::string> kOff{"UseBias",
                                            "UseScaleAB",
                                            "UseScaleCD",
                                            "UseScaleAlphaVec",
                                            "UseE",
                                            "Gradient",
                                            "Activation",
                                            "ActivationType",
                                            "ActivationHPA",
                                            "GroupedGemm",
                                            "Sparse",
                                            "OutputAmaxD",
                                            "StridedBatched",
                                            "UseInitialStridesAB",
                                            "UseInitialStridesCD",
                                            "B2BGemm",
                                            "SupportUserArgs",
                                            "BiasSrc",
                                            "ComplexConjugateA",
                                            "ComplexConjugateB",
                                            "StochasticRounding",
                                            "F32XdlMathOp",
                                            "SilentHighPrecisionAccumulate"};
    if (!dict.is_object()) return fail(failure, path, "expected the problem type, a mapping, not " + quote(dict));
    *type = ProblemType{};
    type->batched = false;
    bool has_type = false;
    std::optional<DataType> destination;
    std::optional<DataType> compute;
    for (const auto& [key, value] : dict.items()) {
        const std::string at = path + "." + key;
        DataType other = DataType::kFloat;
        bool flag = false;
        if (key == "OperationType") {
            if (value != "GEMM") return fail(failure, at, "unknown operation " + quote(value), {"GEMM"});
        } else if (key == "DataType") {
            if (!read_type(value, at, &type->type, failure)) return false;
            has_type = true;
        } else if (key == "DestDataType") {
            if (!read_type(value, at, &other, failure)) return false;
            destination = other;
        } else if (key == "ComputeDataType") {
            if (!read_type(value, at, &other, failure)) return false;
            compute = other;
        } else if (key == "HighPrecisionAccumulate") {
            if (!read_flag(value, at, &flag, failure)) return false;
        } else if (key == "TransposeA") {
            if (!read_flag(value, at, &type->transpose_a, failure)) return false;
        } else if (key == "TransposeB") {
            if (!read_flag(value, at, &type->transpose_b, failure)) return false;
        } else if (key == "UseBeta") {
            if (!read_flag(value, at, &type->use_beta, failure)) return false;
        } else if (key == "Batched") {
            if (!read_flag(value, at, &type->batched, failure)) return false;
        } else if (key == "StridedBatched" && value == true) {
            continue;
        } else if (kOff.count(key) != 0) {
            if (!is_off(value)) {
                return fail(failure, at, "toolchain gemm does not have " + key + ": leave it out or switch it off");
            }
        } else {
            return fail(failure, at, "unknown key " + key + " in the problem type", kKnown);
        }
    }
    if (!has_type) return fail(failure, path + ".DataType", "the problem type has no DataType", {"s", "d", "h"});
    if (destination && *destination != type->type) {
        return fail(failure, path + ".DestDataType", "toolchain gemm writes results in the type of its inputs",
                    {std::string(1, static_cast<char>(to_char(type->type) + 32))});
    }
    const DataType accumulator = type->type == DataType::kHalf ? DataType::kFloat : type->type;
    if (compute && *compute != accumulator) {
        return fail(failure, path + ".ComputeDataType",
                    "toolchain gemm accumulates half in float, and else in the data type",
                    {std::string(1, static_cast<char>(to_char(accumulator) + 32))});
    }
    return true;
}

std::vector<std::string> parameter_names() {
    std::vector<std::string> names;
    for (const ParameterInfo& info : parameters()) names.emplace_back(info.name);
    return names;
}

bool read_parameter(const std::string& name, const std::string& path, Parameter* which, Failure* failure) {
    const auto found = find_parameter(name);
    if (!found) return fail(failure, path, "unknown parameter " + name, parameter_names());
    *which = *found;
    return true;
}

bool read_value(const Json& value, Parameter which, const std::string& path, int* out, Failure* failure) {
    const ParameterInfo& info = parameters()[which];
    if (value.is_boolean() && info.high == 1) {
        *out = value.get<bool>() ? 1 : 0;
        return true;
    }
    const bool fits =
        value.is_number_integer() && !(value.is_number_unsigned() && value.get<std::uint64_t>() > (1U << 30));
    if (!fits || !info.allows(value.get<std::int64_t>())) {
        return fail(failure, path, std::string(info.name) + " cannot be " + quote(value), {info.allowed_text()});
    }
    *out = value.get<int>();
    return true;
}

/// The lists of the two parameter sections: the values by parameter (the last entry of a name wins) and the groups.
struct Lists {
    std::array<std::vector<int>, kParameters> values;
    std::vector<Axis> groups;
};

bool read_groups(const Json& value, const std::string& path, Lists* lists, Failure* failure) {
    if (!value.is_array()) return fail(failure, path, "expected a list of groups, not " + quote(value));
    lists->groups.clear();
    for (std::size_t g = 0; g < value.size(); ++g) {
        const std::string at = fmt::format("{}[{}]", path, g);
        if (!value[g].is_array() || value[g].empty()) {
            return fail(failure, at, "expected a list of mappings that is not empty, not " + quote(value[g]));
        }
        Axis axis;
        for (std::size_t e = 0; e < value[g].size(); ++e) {
            const std::string place = fmt::format("{}[{}]", at, e);
            if (!value[g][e].is_object()) return fail(failure, place, "expected a mapping, not " + quote(value[g][e]));
            Setting setting;
            for (const auto& [name, scalar] : value[g][e].items()) {
                Parameter which = kMacroTile0;
                int number = 0;
                const std::string here = place + "." + name;
                if (!read_parameter(name, here, &which, failure)) return false;
                if (!read_value(scalar, which, here, &number, failure)) return false;
                setting.emplace_back(which, number);
            }
            axis.push_back(std::move(setting));
        }
        lists->groups.push_back(std::move(axis));
    }
    return true;
}

bool read_entry(const std::string& name, const Json& value, const std::string& path, bool groups, Lists* lists,
                Failure* failure) {
    const std::string at = path + "." + name;
    if (name == "Groups" && groups) return read_groups(value, at, lists, failure);
    Parameter which = kMacroTile0;
    if (!read_parameter(name, at, &which, failure)) return false;
    if (!value.is_array())
        return fail(failure, at, "expected a list of values, not " + quote(value),
                    {parameters()[which].allowed_text()});
    if (value.empty())
        return fail(failure, at, "an empty list leaves nothing to try", {parameters()[which].allowed_text()});
    std::vector<int> numbers;
    for (std::size_t i = 0; i < value.size(); ++i) {
        int number = 0;
        if (!read_value(value[i], which, fmt::format("{}[{}]", at, i), &number, failure)) return false;
        numbers.push_back(number);
    }
    lists->values[which] = std::move(numbers);
    return true;
}

/// A section is null, a mapping, or a list of mappings.
bool read_section(const Json& section, const std::string& path, bool groups, Lists* lists, Failure* failure) {
    if (is_absent(section)) return true;
    if (section.is_object()) {
        for (const auto& [name, value] : section.items()) {
            if (!read_entry(name, value, path, groups, lists, failure)) return false;
        }
        return true;
    }
    if (!section.is_array()) return fail(failure, path, "expected a list of mappings, not " + quote(section));
    for (std::size_t i = 0; i < section.size(); ++i) {
        if (section[i].is_null()) continue;
        if (!section[i].is_object())
            return fail(failure, fmt::format("{}[{}]", path, i), "expected a mapping, not " + quote(section[i]));
        for (const auto& [name, value] : section[i].items()) {
            if (!read_entry(name, value, path, groups, lists, failure)) return false;
        }
    }
    return true;
}

/// What Python's json.dumps(sort_keys=True) writes: the cache key is defined over these bytes. Objects sort by
/// themselves in nlohmann::json; strings here are ASCII names.
std::string python_dump(const nlohmann::json& value) {
    std::string out;
    if (value.is_object()) {
        for (const auto& [key, item] : value.items())
            out += (out.empty() ? "" : ", ") + nlohmann::json(key).dump() + ": " + python_dump(item);
        return "{" + out + "}";
    }
    if (value.is_array()) {
        for (const auto& item : value) out += (out.empty() ? "" : ", ") + python_dump(item);
        return "[" + out + "]";
    }
    return value.dump();
}

std::string cache_key(const Lists& lists) {
    nlohmann::json constants = nlohmann::json::object();
    nlohmann::json forks = nlohmann::json::object();
    for (std::size_t i = 0; i < kParameters; ++i) {
        const std::vector<int>& values = lists.values[i];
        if (values.size() > 1) {
            forks[parameters()[i].name] = values;
        } else {
            constants[parameters()[i].name] = values.empty() ? kAuto : values.front();
        }
    }
    nlohmann::json groups = nlohmann::json::array();
    for (const Axis& axis : lists.groups) {
        nlohmann::json elements = nlohmann::json::array();
        for (const Setting& setting : axis) {
            nlohmann::json element = nlohmann::json::object();
            for (const auto& [which, value] : setting) element[parameters()[which].name] = value;
            elements.push_back(std::move(element));
        }
        groups.push_back(std::move(elements));
    }
    const nlohmann::json all{{"ConstantParams", constants},
                             {"ForkParams", forks},
                             {"ParamGroups", groups},
                             {"CustomKernels", nlohmann::json::array()},
                             {"InternalSupportParams", nullptr},
                             {"CustomKernelWildcard", false}};
    return sha256(python_dump(all)).hex().substr(0, 12);
}

bool make_axes(const Lists& lists, const std::string& path, Unit* unit, Failure* failure) {
    for (std::size_t i = 0; i < kParameters; ++i) {
        const std::vector<int>& values = lists.values[i];
        if (values.size() == 1) unit->constants[i] = values.front();
        if (values.size() < 2) continue;
        Axis axis;
        for (const int value : values) axis.push_back({{static_cast<Parameter>(i), value}});
        unit->axes.push_back(std::move(axis));
    }
    unit->axes.insert(unit->axes.end(), lists.groups.begin(), lists.groups.end());
    for (const Axis& axis : unit->axes) {
        if (unit->permutations > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / axis.size()) {
            return fail(failure, path, "the product of the forks does not fit 63 bits");
        }
        unit->permutations *= axis.size();
    }
    unit->cache_key = cache_key(lists);
    return true;
}

bool read_group(const Json& group, const std::string& path, Unit* unit, Failure* failure) {
    static const std::vector<std::string> kKnown{"BenchmarkCommonParameters", "ForkParameters",
                                                 "BenchmarkFinalParameters"};
    static const std::set<std::string> kGone{
        "InitialSolutionParameters", "BenchmarkForkParameters", "JoinParameters",
        "BenchmarkJoinParameters",   "CustomKernels",           "InternalSupportParams"};
    if (!group.is_null() && !group.is_object()) return fail(failure, path, "expected a mapping, not " + quote(group));
    Lists lists;
    Json common;
    Json forks;
    Json final_parameters;
    for (const auto& [key, value] : group.items()) {
        const std::string at = path + "." + key;
        if (key == "BenchmarkCommonParameters") {
            common = value;
        } else if (key == "ForkParameters") {
            forks = value;
        } else if (key == "BenchmarkFinalParameters") {
            final_parameters = value;
        } else if (kGone.count(key) != 0) {
            if (!is_absent(value))
                return fail(failure, at, "toolchain gemm does not have " + key + ": it must be empty", {});
        } else {
            return fail(failure, at, "unknown key " + key + " in a problem-size group", kKnown);
        }
    }
    // Fork parameters override common ones of the same name, so they are read second.
    if (!read_section(common, path + ".BenchmarkCommonParameters", false, &lists, failure)) return false;
    if (!read_section(forks, path + ".ForkParameters", true, &lists, failure)) return false;
    if (!make_axes(lists, path + ".ForkParameters", unit, failure)) return false;
    return read_sizes(final_parameters, path + ".BenchmarkFinalParameters", unit, failure);
}

}  // namespace

std::string Unit::group_name() const {
    return fmt::format("{}_{:02}", type.name(), group);
}

Point Unit::permutation(std::uint64_t i) const {
    Point point = constants;
    for (const Axis& axis : axes) {
        for (const auto& [which, value] : axis[static_cast<std::size_t>(i % axis.size())]) point[which] = value;
        i /= axis.size();
    }
    return point;
}

bool read_units(const Json& config, std::vector<Unit>* units, Failure* failure) {
    units->clear();
    if (!config.is_object()) return fail(failure, "", "expected the config, a mapping, not " + quote(config));
    if (config.contains("Backend") && !is_absent(config["Backend"])) {
        const Json& backend = config["Backend"];
        const Json name = backend.is_object() && backend.contains("Name") ? backend["Name"] : Json();
        if (name != "tensile" && name != "Tensile") {
            return fail(failure, "Backend.Name",
                        "toolchain gemm searches exhaustively; it has no backend " + quote(name), {"tensile"});
        }
    }
    if (!config.contains("BenchmarkProblems") || !config["BenchmarkProblems"].is_array() ||
        config["BenchmarkProblems"].empty()) {
        return fail(failure, "BenchmarkProblems", "expected a list of [problem type, group, ...] that is not empty");
    }
    const Json& entries = config["BenchmarkProblems"];
    for (std::size_t e = 0; e < entries.size(); ++e) {
        const std::string at = fmt::format("BenchmarkProblems[{}]", e);
        const Json& entry = entries[e];
        if (!entry.is_array() || entry.empty())
            return fail(failure, at, "expected [problem type, group, ...], not " + quote(entry));
        ProblemType type;
        if (!read_problem_type(entry[0], at + "[0]", &type, failure)) return false;
        const std::size_t groups = std::max<std::size_t>(1, entry.size() - 1);
        for (std::size_t g = 0; g < groups; ++g) {
            Unit unit;
            unit.index = units->size();
            unit.entry = e;
            unit.group = g;
            unit.type = type;
            const Json group = g + 1 < entry.size() ? entry[g + 1] : Json::object();
            if (!read_group(group, fmt::format("{}[{}]", at, g + 1), &unit, failure)) return false;
            units->push_back(std::move(unit));
        }
    }
    return true;
}

}  // namespace tunefarm::gemm
