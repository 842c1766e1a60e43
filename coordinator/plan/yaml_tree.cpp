// SPDX-License-Identifier: MIT
#include "coordinator/plan/yaml_tree.h"

#include <fmt/format.h>
#include <yaml.h>

#include <cmath>
#include <limits>
#include <unordered_map>
#include <utility>

#include "coordinator/plan/json_text.h"
#include "coordinator/plan/yaml_scalar.h"

namespace tunefarm::plan {
namespace {

constexpr std::string_view kCorePrefix = "tag:yaml.org,2002:";

Mark mark_of(const yaml_mark_t& mark) {
    return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

std::uint64_t add_saturating(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

/// Equal for keys that Python's dict takes as equal: 1, 1.0 and True are one key.
std::string identity(const YamlNode& key) {
    switch (key.kind) {
        case YamlKind::kNull: return "null";
        case YamlKind::kBool: return key.boolean ? "#1" : "#0";
        case YamlKind::kInt: return fmt::format("#{}", key.integer);
        case YamlKind::kFloat:
            if (key.number == std::floor(key.number) && std::abs(key.number) < 9e15) {
                return fmt::format("#{}", static_cast<std::int64_t>(key.number));
            }
            return fmt::format("#{}", key.number);
        default: return "'" + key.text;
    }
}

struct Event {
    yaml_event_t raw{};
    ~Event() { yaml_event_delete(&raw); }
};

struct Parser {
    yaml_parser_t raw{};
    bool ok = yaml_parser_initialize(&raw) != 0;
    Parser() = default;
    Parser(const Parser&) = delete;
    Parser& operator=(const Parser&) = delete;
    ~Parser() {
        if (ok) yaml_parser_delete(&raw);
    }
};

std::string_view text_of(const yaml_char_t* text) {
    return text == nullptr ? std::string_view{} : std::string_view(reinterpret_cast<const char*>(text));
}

}  // namespace

const char* to_string(YamlKind kind) {
    switch (kind) {
        case YamlKind::kNull: return "null";
        case YamlKind::kBool: return "true or false";
        case YamlKind::kInt: return "integer";
        case YamlKind::kFloat: return "number";
        case YamlKind::kString: return "text";
        case YamlKind::kList: return "list";
        case YamlKind::kMap: return "map";
    }
    return "?";
}

const YamlEntry* YamlNode::entry(std::string_view key) const {
    for (const YamlEntry& candidate : entries) {
        if (candidate.key->kind == YamlKind::kString && candidate.key->text == key) return &candidate;
    }
    return nullptr;
}

const YamlNode* YamlNode::find(std::string_view key) const {
    const YamlEntry* found = entry(key);
    return found == nullptr ? nullptr : found->value;
}

/// Builds the tree from libyaml's events with a stack of its own, so that nesting costs no call stack.
class YamlBuilder {
  public:
    YamlBuilder(std::string_view bytes, const std::string& name, const YamlLimits& limits)
        : bytes_(bytes), name_(name), limits_(limits), tree_(std::make_shared<YamlTree>()) {}

    Result<std::shared_ptr<const YamlTree>> build();

  private:
    struct Frame {
        YamlNode* node = nullptr;
        std::string anchor;
        const YamlNode* key = nullptr;  ///< of a map: waiting for its value
        bool key_is_merge = false;
        std::vector<YamlEntry> own;
        std::vector<YamlEntry> merged;
    };

    Error error(Mark mark, const std::string& what) const {
        return {ErrorKind::kInput, fmt::format("{}:{}:{}: {}", name_, mark.line, mark.column, for_people(what, 1000))};
    }
    Error parser_error(const yaml_parser_t& parser) const;
    Status handle(const yaml_event_t& event);
    Status scalar(const yaml_event_t& event);
    Status alias(const yaml_event_t& event);
    Status open(YamlKind kind, const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag);
    Status close(Mark mark);
    Status finish_map(Frame& frame);
    Status merge(Frame& frame, const YamlNode& value, Mark mark);
    Status attach(const YamlNode* node, bool is_merge_word, Mark mark);
    Status resolve(YamlNode& node, const yaml_event_t& event);
    Status define_anchor(std::string_view anchor, Mark mark);
    Result<YamlNode*> add_node(YamlKind kind, Mark mark);
    Status charge(std::uint64_t count, Mark mark);
    Status check_expansion(const YamlNode& node, Mark mark) const;
    bool expects_key() const {
        return !stack_.empty() && stack_.back().node->kind == YamlKind::kMap && stack_.back().key == nullptr;
    }

    std::string_view bytes_;
    const std::string& name_;
    const YamlLimits& limits_;
    std::shared_ptr<YamlTree> tree_;
    std::vector<Frame> stack_;
    std::unordered_map<std::string, const YamlNode*> anchors_;  ///< nullptr: still open
    std::uint64_t charged_ = 0;
    bool document_seen_ = false;
};

Result<std::shared_ptr<const YamlTree>> YamlBuilder::build() {
    if (bytes_.size() > limits_.bytes) {
        return Error{ErrorKind::kInput, fmt::format("{}:1:1: the file has {} bytes, the limit is {}", name_,
                                                    bytes_.size(), limits_.bytes)};
    }
    Parser parser;
    if (!parser.ok) return Error{ErrorKind::kNoSpace, "no memory for a YAML parser"};
    yaml_parser_set_encoding(&parser.raw, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser.raw, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    for (;;) {
        Event event;
        if (yaml_parser_parse(&parser.raw, &event.raw) == 0) return parser_error(parser.raw);
        if (event.raw.type == YAML_STREAM_END_EVENT) break;
        TUNEFARM_TRY(handle(event.raw));
    }
    if (tree_->root_ == nullptr) {
        TUNEFARM_ASSIGN(YamlNode * empty, add_node(YamlKind::kNull, Mark{1, 1}));
        tree_->root_ = empty;
    }
    return std::shared_ptr<const YamlTree>(tree_);
}

Error YamlBuilder::parser_error(const yaml_parser_t& parser) const {
    if (parser.error == YAML_MEMORY_ERROR) return {ErrorKind::kNoSpace, name_ + ": no memory to parse the file"};
    if (parser.error == YAML_READER_ERROR) {
        Mark mark{1, 1};
        for (const char c : bytes_.substr(0, parser.problem_offset)) {
            if (c == '\n') {
                ++mark.line;
                mark.column = 1;
            } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
                ++mark.column;
            }
        }
        return error(mark, fmt::format("this is not a YAML text: {} (a config is UTF-8)",
                                       parser.problem == nullptr ? "unreadable" : parser.problem));
    }
    std::string what = parser.problem == nullptr ? "cannot be parsed" : parser.problem;
    if (parser.context != nullptr) {
        const Mark context = mark_of(parser.context_mark);
        what += fmt::format(" ({}, line {} column {})", parser.context, context.line, context.column);
    }
    return error(mark_of(parser.problem_mark), "YAML: " + what);
}

Status YamlBuilder::charge(std::uint64_t count, Mark mark) {
    charged_ = add_saturating(charged_, count);
    if (charged_ <= limits_.nodes) return {};
    return error(mark, fmt::format("the file has more than {} values", limits_.nodes));
}

Result<YamlNode*> YamlBuilder::add_node(YamlKind kind, Mark mark) {
    TUNEFARM_TRY(charge(1, mark));
    YamlNode& node = tree_->nodes_.emplace_back();
    node.kind = kind;
    node.mark = mark;
    return &node;
}

Status YamlBuilder::handle(const yaml_event_t& event) {
    const Mark mark = mark_of(event.start_mark);
    switch (event.type) {
        case YAML_DOCUMENT_START_EVENT:
            if (document_seen_) return error(mark, "a second document starts here; a config is one document");
            document_seen_ = true;
            return {};
        case YAML_SCALAR_EVENT: return scalar(event);
        case YAML_ALIAS_EVENT: return alias(event);
        case YAML_SEQUENCE_START_EVENT:
            return open(YamlKind::kList, event, event.data.sequence_start.anchor, event.data.sequence_start.tag);
        case YAML_MAPPING_START_EVENT:
            return open(YamlKind::kMap, event, event.data.mapping_start.anchor, event.data.mapping_start.tag);
        case YAML_SEQUENCE_END_EVENT:
        case YAML_MAPPING_END_EVENT: return close(mark);
        default: return {};
    }
}

Status YamlBuilder::define_anchor(std::string_view anchor, Mark mark) {
    if (anchor.empty()) return {};
    if (anchors_.emplace(std::string(anchor), nullptr).second) return {};
    return error(mark, fmt::format("the anchor &{} is already defined", anchor));
}

Status YamlBuilder::scalar(const yaml_event_t& event) {
    const Mark mark = mark_of(event.start_mark);
    const auto& raw = event.data.scalar;
    if (raw.length > limits_.scalar) {
        return error(mark, fmt::format("this text has {} bytes, the limit is {}", raw.length, limits_.scalar));
    }
    const std::string_view anchor = text_of(raw.anchor);
    TUNEFARM_TRY(define_anchor(anchor, mark));
    TUNEFARM_ASSIGN(YamlNode * node, add_node(YamlKind::kString, mark));
    node->text.assign(reinterpret_cast<const char*>(raw.value), raw.length);
    node->expanded_bytes = raw.length;
    const bool plain = raw.plain_implicit != 0;
    const std::string_view tag = text_of(raw.tag);
    const bool is_merge_word = (plain && node->text == "<<") || tag == "tag:yaml.org,2002:merge";
    if (is_merge_word || (plain && node->text == "=")) {
        if (!expects_key()) return error(mark, fmt::format("a plain {} means nothing here; quote it", node->text));
    } else {
        TUNEFARM_TRY(resolve(*node, event));
    }
    if (!anchor.empty()) anchors_[std::string(anchor)] = node;
    return attach(node, is_merge_word, mark);
}

Status YamlBuilder::resolve(YamlNode& node, const yaml_event_t& event) {
    const auto& raw = event.data.scalar;
    const std::string_view tag = text_of(raw.tag);
    YamlScalar value;
    if (tag.empty()) {
        if (raw.plain_implicit == 0) return {};
        value = resolve_scalar(node.text);
    } else if (tag == "!" || tag == "tag:yaml.org,2002:str") {
        return {};
    } else if (tag == "tag:yaml.org,2002:int") {
        value = resolve_int(node.text);
    } else if (tag == "tag:yaml.org,2002:float") {
        value = resolve_float(node.text);
    } else if (tag == "tag:yaml.org,2002:bool") {
        value = resolve_bool(node.text);
        if (std::holds_alternative<std::monostate>(value)) value = YamlBadScalar{"not true or false"};
    } else if (tag == "tag:yaml.org,2002:null") {
        value = YamlNullScalar{};
    } else {
        return error(node.mark, fmt::format("the tag {} is not allowed; configs hold plain data only", tag));
    }
    if (const auto* bad = std::get_if<YamlBadScalar>(&value)) {
        return error(node.mark, fmt::format("{}: {}", node.text, bad->why));
    }
    if (std::holds_alternative<YamlNullScalar>(value)) node.kind = YamlKind::kNull;
    if (const auto* boolean = std::get_if<bool>(&value)) {
        node.kind = YamlKind::kBool;
        node.boolean = *boolean;
    }
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
        node.kind = YamlKind::kInt;
        node.integer = *integer;
        node.number = static_cast<double>(*integer);
    }
    if (const auto* number = std::get_if<double>(&value)) {
        node.kind = YamlKind::kFloat;
        node.number = *number;
    }
    return {};
}

Status YamlBuilder::alias(const yaml_event_t& event) {
    const Mark mark = mark_of(event.start_mark);
    const std::string_view name = text_of(event.data.alias.anchor);
    const auto found = anchors_.find(std::string(name));
    if (found == anchors_.end()) return error(mark, fmt::format("*{} refers to an anchor that is not defined", name));
    if (found->second == nullptr) return error(mark, fmt::format("*{} lies inside its own anchor", name));
    // An alias costs a pointer in its parent; a file of nothing but aliases must not pass the limit either.
    TUNEFARM_TRY(charge(1, mark));
    return attach(found->second, false, mark);
}

Status YamlBuilder::open(YamlKind kind, const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag) {
    const Mark mark = mark_of(event.start_mark);
    const std::string_view tag_text = text_of(tag);
    const std::string_view core = kind == YamlKind::kList ? "seq" : "map";
    const bool plain = tag_text.empty() || tag_text == "!" ||
                       (tag_text.starts_with(kCorePrefix) && tag_text.substr(kCorePrefix.size()) == core);
    if (!plain) return error(mark, fmt::format("the tag {} is not allowed; configs hold plain data only", tag_text));
    if (stack_.size() >= limits_.depth) {
        return error(mark, fmt::format("lists and maps are nested more than {} deep", limits_.depth));
    }
    if (expects_key()) return error(mark, fmt::format("a {} cannot be a key", to_string(kind)));
    TUNEFARM_TRY(define_anchor(text_of(anchor), mark));
    TUNEFARM_ASSIGN(YamlNode * node, add_node(kind, mark));
    Frame& frame = stack_.emplace_back();
    frame.node = node;
    frame.anchor = text_of(anchor);
    return {};
}

Status YamlBuilder::check_expansion(const YamlNode& node, Mark mark) const {
    if (node.expanded_nodes <= limits_.nodes && node.expanded_bytes <= limits_.expanded_bytes) return {};
    return error(mark,
                 fmt::format("with its aliases expanded this is {} values and {} characters; the limits are {} and {}",
                             node.expanded_nodes, node.expanded_bytes, limits_.nodes, limits_.expanded_bytes));
}

Status YamlBuilder::close(Mark mark) {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    YamlNode& node = *frame.node;
    if (node.kind == YamlKind::kMap) {
        TUNEFARM_TRY(finish_map(frame));
        for (const YamlEntry& entry : node.entries) {
            node.expanded_nodes = add_saturating(node.expanded_nodes, entry.value->expanded_nodes);
            node.expanded_bytes =
                add_saturating(node.expanded_bytes, entry.key->text.size() + entry.value->expanded_bytes);
        }
    } else {
        for (const YamlNode* item : node.items) {
            node.expanded_nodes = add_saturating(node.expanded_nodes, item->expanded_nodes);
            node.expanded_bytes = add_saturating(node.expanded_bytes, item->expanded_bytes);
        }
    }
    TUNEFARM_TRY(check_expansion(node, node.mark));
    if (!frame.anchor.empty()) anchors_[frame.anchor] = &node;
    return attach(&node, false, mark);
}

Status YamlBuilder::finish_map(Frame& frame) {
    // Merged entries come first, so that the map's own win; among equal keys the last value wins at the first place.
    std::vector<YamlEntry>& out = frame.node->entries;
    if (frame.merged.empty()) {
        out = std::move(frame.own);
    } else {
        out = std::move(frame.merged);
        out.insert(out.end(), frame.own.begin(), frame.own.end());
    }
    std::unordered_map<std::string, std::size_t> places;
    places.reserve(out.size());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto [place, inserted] = places.emplace(identity(*out[i].key), kept);
        if (inserted) {
            out[kept++] = out[i];
        } else {
            out[place->second] = out[i];
        }
    }
    out.resize(kept);
    return {};
}

Status YamlBuilder::merge(Frame& frame, const YamlNode& value, Mark mark) {
    const auto take = [&](const YamlNode& map) -> Status {
        TUNEFARM_TRY(charge(map.entries.size(), mark));
        frame.merged.insert(frame.merged.end(), map.entries.begin(), map.entries.end());
        return {};
    };
    if (value.kind == YamlKind::kMap) return take(value);
    if (value.kind != YamlKind::kList) return error(mark, "<< takes a map or a list of maps");
    for (auto item = value.items.rbegin(); item != value.items.rend(); ++item) {
        if ((*item)->kind != YamlKind::kMap) return error(mark, "<< takes a map or a list of maps");
        TUNEFARM_TRY(take(**item));
    }
    return {};
}

Status YamlBuilder::attach(const YamlNode* node, bool is_merge_word, Mark mark) {
    if (stack_.empty()) {
        tree_->root_ = node;
        return {};
    }
    Frame& frame = stack_.back();
    if (frame.node->kind == YamlKind::kList) {
        frame.node->items.push_back(node);
        return {};
    }
    if (frame.key == nullptr) {
        if (node->kind == YamlKind::kList || node->kind == YamlKind::kMap) {
            return error(mark, fmt::format("a {} cannot be a key", to_string(node->kind)));
        }
        frame.key = node;
        frame.key_is_merge = is_merge_word;
        return {};
    }
    const YamlNode* key = std::exchange(frame.key, nullptr);
    if (frame.key_is_merge) return merge(frame, *node, mark);
    frame.own.push_back({key, node});
    return {};
}

Result<std::shared_ptr<const YamlTree>> parse_yaml(std::string_view bytes, const std::string& name,
                                                   const YamlLimits& limits) {
    return YamlBuilder(bytes, name, limits).build();
}

}  // namespace tunefarm::plan
