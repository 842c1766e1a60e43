// SPDX-License-Identifier: MIT
#include "coordinator/plan/normalised.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "coordinator/plan/json_text.h"

namespace tunefarm::plan {
namespace {

/// The depth is bounded by YamlLimits, and the size by its expansion limits.
void append_node(std::string& out, const YamlNode& node) {
    switch (node.kind) {
        case YamlKind::kNull: out += "null"; return;
        case YamlKind::kBool: out += node.boolean ? "true" : "false"; return;
        case YamlKind::kInt: append_json(out, node.integer); return;
        case YamlKind::kFloat: append_json(out, node.number); return;
        case YamlKind::kString: append_json(out, node.text); return;
        case YamlKind::kList: {
            out += '[';
            const char* separator = "";
            for (const YamlNode* item : node.items) {
                out += separator;
                append_node(out, *item);
                separator = ",";
            }
            out += ']';
            return;
        }
        case YamlKind::kMap: {
            out += '{';
            const char* separator = "";
            for (const YamlEntry& entry : node.entries) {
                out += separator;
                append_json(out, entry.key->text);
                out += ':';
                append_node(out, *entry.value);
                separator = ",";
            }
            out += '}';
            return;
        }
    }
}

struct Place {
    const YamlNode* node = nullptr;
    Mark mark;
};

Place child(const YamlNode& node, std::string_view name) {
    if (const YamlEntry* entry = node.entry(name)) return {entry->value, entry->key->mark};
    for (auto item = node.items.rbegin(); item != node.items.rend(); ++item) {
        if (const YamlEntry* entry = (*item)->entry(name)) return {entry->value, entry->key->mark};
    }
    return {};
}

Place child(const YamlNode& node, std::size_t index) {
    if (index >= node.items.size()) return {};
    return {node.items[index], node.items[index]->mark};
}

}  // namespace

std::string to_json(const YamlNode& node) {
    std::string out;
    append_node(out, node);
    return out;
}

std::string normalised_json(const Config& config) {
    const YamlNode& root = config.tree->root();
    std::string out = "{\"Toolchain\":";
    append_json(out, config.toolchain);
    out += ",\"GlobalParameters\":";
    const YamlNode* globals = root.find("GlobalParameters");
    if (globals == nullptr || globals->is_null()) {
        out += "{}";
    } else {
        append_node(out, *globals);
    }
    out += ",\"BenchmarkProblems\":";
    append_node(out, *root.find("BenchmarkProblems"));
    for (const char* key : {"LibraryLogic", "Backend"}) {
        const YamlNode* part = root.find(key);
        if (part == nullptr || part->is_null()) continue;
        out += ',';
        append_json(out, key);
        out += ':';
        append_node(out, *part);
    }
    out += '}';
    return out;
}

std::optional<Mark> locate(const Config& config, std::string_view path) {
    const YamlNode* node = &config.tree->root();
    std::optional<Mark> best;
    while (!path.empty()) {
        Place next;
        if (path[0] == '[') {
            std::size_t index = 0;
            const auto parsed = std::from_chars(path.data() + 1, path.data() + path.size(), index);
            const auto used = static_cast<std::size_t>(parsed.ptr - path.data());
            if (parsed.ec != std::errc{} || used >= path.size() || path[used] != ']') break;
            path.remove_prefix(used + 1);
            next = child(*node, index);
        } else {
            if (path[0] == '.') path.remove_prefix(1);
            const std::size_t end = std::min(path.find_first_of(".["), path.size());
            if (end == 0) break;
            next = child(*node, path.substr(0, end));
            path.remove_prefix(end);
        }
        if (next.node == nullptr) break;
        node = next.node;
        best = next.mark;
    }
    return best;
}

std::string place_of(const Config& config, std::string_view path) {
    const std::optional<Mark> mark = locate(config, path);
    return mark ? fmt::format("{}:{}:{}", config.path, mark->line, mark->column) : config.path;
}

std::string refusal_text(const Config& config, std::string_view path, std::string_view message,
                         std::string_view allowed) {
    return fmt::format("{}: {}{}{}{}{}", place_of(config, path), path, path.empty() ? "" : ": ", message,
                       allowed.empty() ? "" : "; allowed: ", allowed);
}

}  // namespace tunefarm::plan
