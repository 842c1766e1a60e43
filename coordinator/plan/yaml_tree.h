// SPDX-License-Identifier: MIT
// A YAML 1.1 document as an immutable tree with the place of every node. The grammar is libyaml's, the meaning of plain
// scalars, merge keys and duplicate keys is that of PyYAML's safe_load, which is what reads these files upstream.
// Differences: timestamps stay strings, integers must fit in 64 bits, and an anchor that contains itself is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tunefarm::plan {

/// A place in a file; both count from 1, columns in characters. Line 0: no place.
struct Mark {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    bool operator==(const Mark&) const = default;
};

enum class YamlKind { kNull, kBool, kInt, kFloat, kString, kList, kMap };
/// "null", "true or false", "integer", "number", "text", "list", "map".
const char* to_string(YamlKind kind);

struct YamlNode;

struct YamlEntry {
    const YamlNode* key = nullptr;  ///< a scalar
    const YamlNode* value = nullptr;
};

/// Owned by its YamlTree. An alias is a second pointer to the same node, so its place is that of the anchor.
struct YamlNode {
    YamlKind kind = YamlKind::kNull;
    Mark mark;
    bool boolean = false;
    std::int64_t integer = 0;
    double number = 0;                   ///< of kInt too
    std::string text;                    ///< a scalar as written, without quotes
    std::vector<const YamlNode*> items;  ///< kList
    std::vector<YamlEntry> entries;      ///< kMap: unique keys, position of the first, value of the last occurrence
    std::uint64_t expanded_nodes = 1;    ///< nodes below and including this one, aliases counted each time
    std::uint64_t expanded_bytes = 0;    ///< characters of all their scalars

    bool is(YamlKind other) const { return kind == other; }
    bool is_null() const { return kind == YamlKind::kNull; }
    /// The entry whose key is the string `key`; nullptr if there is none or this is not a map.
    const YamlEntry* entry(std::string_view key) const;
    /// Its value, or nullptr.
    const YamlNode* find(std::string_view key) const;
};

/// What a file may ask of us. A file beyond a limit is refused with the limit in the message; nothing is built first,
/// so that no input needs more than a few hundred MB.
struct YamlLimits {
    std::size_t bytes = std::size_t{16} << 20;   ///< the largest upstream config has 0.1 MB
    std::uint64_t nodes = 1'000'000;             ///< nodes of the file, and nodes after expanding aliases
    std::uint64_t expanded_bytes = 64ULL << 20;  ///< characters of scalars after expanding aliases
    std::uint32_t depth = 64;                    ///< nested lists and maps
    std::size_t scalar = std::size_t{64} << 10;  ///< bytes of one scalar
};

class YamlTree {
  public:
    /// Never null. An empty file is a kNull root.
    const YamlNode& root() const { return *root_; }

  private:
    friend class YamlBuilder;
    std::deque<YamlNode> nodes_;
    const YamlNode* root_ = nullptr;
};

/// Every failure is kInput and starts with "<name>:<line>:<column>: ".
Result<std::shared_ptr<const YamlTree>> parse_yaml(std::string_view bytes, const std::string& name,
                                                   const YamlLimits& limits = {});

}  // namespace tunefarm::plan
