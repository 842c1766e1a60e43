// SPDX-License-Identifier: MIT
#include "coordinator/plan/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "coordinator/plan/json_text.h"

namespace tunefarm::plan {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxName = 4096;
constexpr std::uint64_t kMaxCount = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

Error broken(std::size_t unit, const char* field, const std::string& what) {
    return {ErrorKind::kCorruption, fmt::format("split: units[{}].{}: {}", unit, field, what)};
}

Result<std::uint64_t> count(const json& object, std::size_t unit, const char* field, std::uint64_t limit) {
    const auto found = object.find(field);
    if (found == object.end()) return broken(unit, field, "is missing");
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > limit) {
        return broken(unit, field, fmt::format("must be an integer from 0 to {}", limit));
    }
    return found->get<std::uint64_t>();
}

bool printable(const std::string& text) {
    return text.size() <= kMaxName &&
           std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

Result<std::optional<std::string>> name(const json& object, std::size_t unit, const char* field) {
    const auto found = object.find(field);
    if (found == object.end() || found->is_null()) return std::optional<std::string>();
    if (!found->is_string() || found->get_ref<const std::string&>().empty() ||
        !printable(found->get_ref<const std::string&>())) {
        return broken(unit, field, fmt::format("must be text of 1 to {} printable bytes, or null", kMaxName));
    }
    return std::optional(found->get<std::string>());
}

Status problem_sizes(const json& object, std::size_t unit, std::uint64_t& budget, std::vector<Size>& out) {
    const auto found = object.find("problem_sizes");
    if (found == object.end() || !found->is_array()) return broken(unit, "problem_sizes", "must be a list");
    if (found->size() > budget) {
        return broken(unit, "problem_sizes", fmt::format("a config may have {} sizes in all", kMaxSizesPerConfig));
    }
    budget -= found->size();
    out.reserve(found->size());
    for (const json& item : *found) {
        Size& size = out.emplace_back();
        if (!item.is_array() || item.empty() || item.size() > 4096)
            return broken(unit, "problem_sizes", "must hold lists of integers");
        for (const json& number : item) {
            const bool fits = number.is_number_integer() &&
                              (!number.is_number_unsigned() || number.get<std::uint64_t>() <= kMaxCount);
            if (!fits) return broken(unit, "problem_sizes", "must hold lists of integers");
            size.push_back(number.get<std::int64_t>());
        }
    }
    return {};
}

Status custom_kernels(const json& object, std::size_t unit, std::vector<std::string>& out) {
    const auto found = object.find("custom_kernels");
    if (found == object.end() || !found->is_array()) return broken(unit, "custom_kernels", "must be a list of names");
    for (const json& item : *found) {
        if (!item.is_string() || !printable(item.get_ref<const std::string&>())) {
            return broken(unit, "custom_kernels", "must be a list of names");
        }
        out.push_back(item.get<std::string>());
    }
    return {};
}

Result<Unit> parse_unit(const json& object, std::size_t i, std::uint64_t& size_budget) {
    if (!object.is_object()) return broken(i, "", "must be an object");
    Unit unit;
    TUNEFARM_ASSIGN(const std::uint64_t index, count(object, i, "index", kMaxUnits));
    if (index != i) return broken(i, "index", fmt::format("is {}; units come in order from 0", index));
    unit.index = static_cast<std::uint32_t>(index);
    TUNEFARM_ASSIGN(const std::uint64_t entry, count(object, i, "entry", kMaxUnits));
    unit.entry = static_cast<std::uint32_t>(entry);
    TUNEFARM_ASSIGN(const std::uint64_t group, count(object, i, "group", kMaxUnits));
    unit.group = static_cast<std::uint32_t>(group);
    TUNEFARM_ASSIGN(std::optional<std::string> problem, name(object, i, "problem"));
    if (!problem) return broken(i, "problem", "is missing");
    unit.problem = std::move(*problem);
    TUNEFARM_ASSIGN(unit.group_name, name(object, i, "group_name"));
    TUNEFARM_ASSIGN(unit.cache_key, name(object, i, "cache_key"));
    TUNEFARM_ASSIGN(unit.cache_directory, name(object, i, "cache_directory"));
    TUNEFARM_ASSIGN(unit.fork_permutations, count(object, i, "fork_permutations", kMaxCount));
    TUNEFARM_ASSIGN(unit.size_entries, count(object, i, "size_entries", kMaxCount));
    TUNEFARM_TRY(problem_sizes(object, i, size_budget, unit.problem_sizes));
    TUNEFARM_TRY(custom_kernels(object, i, unit.custom_kernels));
    const auto driven = object.find("result_driven");
    if (driven == object.end() || !driven->is_boolean()) return broken(i, "result_driven", "must be true or false");
    unit.result_driven = driven->get<bool>();
    return unit;
}

void append_name(std::string& out, const char* key, const std::optional<std::string>& value) {
    if (!value) return;
    out += ',';
    append_json(out, key);
    out += ':';
    append_json(out, *value);
}

}  // namespace

Result<std::vector<Unit>> parse_units(std::string_view text) {
    const json document = json::parse(text, nullptr, false);
    if (document.is_discarded() || !document.is_object())
        return Error{ErrorKind::kCorruption, "split: the result is not a JSON object"};
    const auto list = document.find("units");
    if (list == document.end() || !list->is_array())
        return Error{ErrorKind::kCorruption, "split: `units` must be a list"};
    // A config without steps never gets here: the parser refuses it.
    if (list->empty()) return Error{ErrorKind::kCorruption, "split: `units` is empty"};
    if (list->size() > kMaxUnits) {
        return Error{ErrorKind::kCorruption, fmt::format("split: {} units, the limit is {}", list->size(), kMaxUnits)};
    }
    std::vector<Unit> units;
    units.reserve(list->size());
    std::uint64_t size_budget = kMaxSizesPerConfig;
    for (std::size_t i = 0; i < list->size(); ++i) {
        TUNEFARM_ASSIGN(Unit unit, parse_unit((*list)[i], i, size_budget));
        units.push_back(std::move(unit));
    }
    return units;
}

std::vector<Unit> units_of(const Config& config) {
    std::vector<Unit> units;
    units.reserve(config.steps.size());
    for (const Step& step : config.steps) {
        Unit& unit = units.emplace_back();
        unit.index = step.index;
        unit.entry = step.entry;
        unit.group = step.group;
        unit.problem = step.problem;
        unit.fork_permutations = step.fork_permutations;
        unit.size_entries = step.problem_sizes.entries;
        unit.problem_sizes = step.problem_sizes.sizes;
        unit.custom_kernels = step.custom_kernels;
        unit.result_driven = step.result_driven;
    }
    return units;
}

std::string units_json(const std::vector<Unit>& units) {
    std::string out = "{\"units\":[";
    for (const Unit& unit : units) {
        if (unit.index > 0) out += ',';
        out += fmt::format("{{\"index\":{},\"entry\":{},\"group\":{},\"problem\":", unit.index, unit.entry, unit.group);
        append_json(out, unit.problem);
        append_name(out, "group_name", unit.group_name);
        append_name(out, "cache_key", unit.cache_key);
        append_name(out, "cache_directory", unit.cache_directory);
        out += fmt::format(",\"fork_permutations\":{},\"size_entries\":{},\"problem_sizes\":", unit.fork_permutations,
                           unit.size_entries);
        append_json(out, unit.problem_sizes);
        out += ",\"custom_kernels\":";
        append_json(out, unit.custom_kernels);
        out += fmt::format(",\"result_driven\":{}}}", unit.result_driven);
    }
    out += "]}";
    return out;
}

}  // namespace tunefarm::plan
