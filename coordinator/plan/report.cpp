// SPDX-License-Identifier: MIT
#include "coordinator/plan/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "coordinator/plan/gates.h"
#include "coordinator/plan/json_text.h"

namespace tunefarm::plan {
namespace {

/// CPU seconds to generate and assemble one kernel, as measured on typical configs. Only good for "minutes or days".
double typical_kernel_seconds(const std::string& toolchain) {
    return toolchain == "gemm" ? 0.15 : 1.2;
}

void append_optional(std::string& out, const std::optional<std::string>& text) {
    if (text) {
        append_json(out, *text);
    } else {
        out += "null";
    }
}

void append_waits(std::string& out, std::uint32_t step, const std::optional<std::vector<Gate>>& gates) {
    if (!gates) {
        out += "null";
        return;
    }
    out += '[';
    const char* separator = "";
    for (const Gate& gate : *gates) {
        if (gate.waiter != step) continue;
        out += fmt::format("{}{{\"step\":{},\"reason\":\"{}\",\"gate\":\"{}\"}}", separator, gate.holder,
                           to_string(gate.reason), describe(gate));
        separator = ",";
    }
    out += ']';
}

void append_step(std::string& out, const Unit& unit, const std::optional<std::vector<Gate>>& gates) {
    out += fmt::format("{{\"index\":{},\"problem\":", unit.index);
    append_json(out, unit.problem);
    out += fmt::format(",\"group\":{},\"group_name\":", unit.group);
    append_optional(out, unit.group_name);
    out += ",\"cache_key\":";
    append_optional(out, unit.cache_key);
    out += fmt::format(",\"fork_permutations\":{},\"size_entries\":{},\"problem_sizes\":", unit.fork_permutations,
                       unit.size_entries);
    append_json(out, unit.problem_sizes);
    out += ",\"custom_kernels\":";
    append_json(out, unit.custom_kernels);
    out += fmt::format(",\"result_driven\":{},\"waits_on\":", unit.result_driven);
    append_waits(out, unit.index, gates);
    out += '}';
}

std::string duration(double seconds) {
    if (seconds < 120) return fmt::format("{:.0f} s", seconds);
    if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
    if (seconds < 48 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
    return fmt::format("{:.0f} days", seconds / 86400);
}

std::string plural(std::uint64_t n, const char* word) {
    return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

std::string waits_text(const Unit& unit, const std::optional<std::vector<Gate>>& gates) {
    if (!gates) return "not known without the toolchain";
    std::string out;
    for (const Gate& gate : *gates) {
        if (gate.waiter != unit.index) continue;
        out += fmt::format("{}step {}: {} ({})", out.empty() ? "" : "; ", gate.holder, describe(gate),
                           to_string(gate.reason));
    }
    if (out.empty()) return unit.result_driven ? "nothing (search, runs in rounds)" : "nothing";
    return out;
}

/// Cuts between characters, not inside one.
std::string clip(const std::string& text, std::size_t width) {
    if (text.size() <= width) return text;
    std::size_t end = width - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return text.substr(0, end) + "...";
}

void append_config(std::string& out, const PlannedConfig& config) {
    const auto gates = gates_of(config.units);
    constexpr std::size_t kWidest = 44;
    std::size_t width = 7;
    for (const Unit& unit : config.units)
        width = std::max(width, clip(unit.group_name.value_or(unit.problem), kWidest).size());
    out += fmt::format("{} ({}): {}\n", config.path, config.toolchain, plural(config.units.size(), "step"));
    out += fmt::format("  {:>4}  {:<{}}  {:>12}  {:>7}  {:>6}  {}\n", "step", "problem", width, "permutations",
                       "entries", "sizes", "waits on");
    for (const Unit& unit : config.units) {
        out += fmt::format("  {:>4}  {:<{}}  {:>12}  {:>7}  {:>6}  {}\n", unit.index,
                           clip(unit.group_name.value_or(unit.problem), kWidest), width, unit.fork_permutations,
                           unit.size_entries, unit.problem_sizes.size(), waits_text(unit, gates));
        if (!unit.custom_kernels.empty()) {
            out += fmt::format("        with {}\n", plural(unit.custom_kernels.size(), "custom kernel"));
        }
    }
}

void append_dot_text(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
}

}  // namespace

std::string plan_json(const std::vector<PlannedConfig>& configs) {
    std::string out = "{\"version\":1,\"configs\":[";
    for (std::size_t i = 0; i < configs.size(); ++i) {
        const auto gates = gates_of(configs[i].units);
        out += i == 0 ? "{\"path\":" : ",{\"path\":";
        append_json(out, configs[i].path);
        out += ",\"toolchain\":";
        append_json(out, configs[i].toolchain);
        out += ",\"steps\":[";
        for (std::size_t k = 0; k < configs[i].units.size(); ++k) {
            if (k > 0) out += ',';
            append_step(out, configs[i].units[k], gates);
        }
        out += "]}";
    }
    out += "]}\n";
    return out;
}

std::string plan_text(const std::vector<PlannedConfig>& configs, const std::vector<std::string>& targets) {
    std::string out;
    double permutations = 0;
    double seconds = 0;
    double measurements = 0;
    std::uint64_t steps = 0;
    for (const PlannedConfig& config : configs) {
        append_config(out, config);
        out += '\n';
        steps += config.units.size();
        for (const Unit& unit : config.units) {
            const auto count = static_cast<double>(unit.fork_permutations);
            permutations += count;
            seconds += count * typical_kernel_seconds(config.toolchain);
            measurements += count * static_cast<double>(unit.problem_sizes.size());
        }
    }
    const auto per_target = static_cast<double>(std::max<std::size_t>(targets.size(), 1));
    out += fmt::format("{} of {}", plural(steps, "step"), plural(configs.size(), "config"));
    if (!targets.empty()) {
        out += " for ";
        for (std::size_t i = 0; i < targets.size(); ++i) out += (i == 0 ? "" : ", ") + targets[i];
    }
    out += fmt::format(": {:.0f} fork permutations.\n", permutations * per_target);
    out += fmt::format(
        "Estimate: up to {} of CPU time to build and {:.0f} pairs of kernel and size to measure, if every permutation "
        "is valid,\n"
        "distinct and as costly as a typical kernel; invalid and repeated ones cost next to nothing.\n",
        duration(seconds * per_target), measurements * per_target);
    return out;
}

std::string plan_dot(const std::vector<PlannedConfig>& configs) {
    std::string out = "digraph plan {\n  rankdir=LR;\n  node [shape=box];\n";
    for (std::size_t i = 0; i < configs.size(); ++i) {
        out += fmt::format("  subgraph cluster_{} {{\n    label=\"", i);
        append_dot_text(out, configs[i].path);
        out += "\";\n";
        for (const Unit& unit : configs[i].units) {
            out += fmt::format("    c{}s{} [label=\"{}: ", i, unit.index, unit.index);
            append_dot_text(out, unit.group_name.value_or(unit.problem));
            out += fmt::format("\\n{}\"];\n", plural(unit.fork_permutations, "permutation"));
        }
        out += "  }\n";
        for (const Gate& gate : gates_of(configs[i].units).value_or(std::vector<Gate>{})) {
            out += fmt::format("  c{}s{} -> c{}s{} [label=\"{}\\n{}\"];\n", i, gate.holder, i, gate.waiter,
                               describe(gate), to_string(gate.reason));
        }
    }
    out += "}\n";
    return out;
}

}  // namespace tunefarm::plan
