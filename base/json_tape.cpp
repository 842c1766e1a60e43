// SPDX-License-Identifier: MIT
#include "base/json_tape.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace tunefarm {

/// Fills a tape. Fails by returning false, with the first reason in `wrong`.
class JsonReader {
  public:
    JsonReader(std::string_view text, int max_nesting, std::vector<JsonTape::Node>& nodes)
        : text_(text), left_(max_nesting), nodes_(nodes) {}

    bool document() {
        skip_space();
        if (!value()) return false;
        skip_space();
        return at_ == text_.size() || fail("something follows the value");
    }

    std::string wrong;
    std::size_t place() const { return at_; }

  private:
    using Kind = JsonTape::Kind;
    using Node = JsonTape::Node;

    bool fail(const char* what) {
        if (wrong.empty()) wrong = what;
        return false;
    }
    unsigned char here() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : 0; }
    bool take(char c) {
        if (here() != static_cast<unsigned char>(c) || at_ == text_.size()) return false;
        ++at_;
        return true;
    }
    /// True if there was some.
    bool skip_space() {
        const std::size_t before = at_;
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
            ++at_;
        return at_ != before;
    }

    std::uint32_t open(Kind kind) {
        Node node;
        node.begin = static_cast<std::uint32_t>(at_);
        node.kind = kind;
        nodes_.push_back(node);
        return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    bool close(std::uint32_t index, bool canonical) {
        Node& node = nodes_[index];
        node.end = static_cast<std::uint32_t>(at_);
        node.next = static_cast<std::uint32_t>(nodes_.size());
        node.canonical = canonical;
        return true;
    }

    bool value() {
        switch (here()) {
            case '{': return object();
            case '[': return array();
            case '"': return string();
            case 't': return word("true", Kind::kTrue);
            case 'f': return word("false", Kind::kFalse);
            case 'n': return word("null", Kind::kNull);
            default: return number();
        }
    }

    bool word(std::string_view name, Kind kind) {
        if (text_.substr(at_, name.size()) != name) return fail("not a JSON value");
        const std::uint32_t node = open(kind);
        at_ += name.size();
        return close(node, true);
    }

    std::size_t digits() {
        const std::size_t before = at_;
        while (here() >= '0' && here() <= '9') ++at_;
        return at_ - before;
    }

    bool number() {
        constexpr std::size_t kPlainDigits = 18;  // fit into 64 bits, whatever they are
        const std::size_t begin = at_;
        const std::uint32_t node = open(Kind::kInteger);
        const bool negative = take('-');
        const bool zero = here() == '0';
        const std::size_t whole = zero ? static_cast<std::size_t>(take('0')) : digits();
        if (whole == 0) return fail("not a JSON value");
        bool real = false;
        if (take('.')) {
            real = true;
            if (digits() == 0) return fail("a number without digits after its point");
        }
        if (here() == 'e' || here() == 'E') {
            real = true;
            ++at_;
            if (!take('-')) take('+');
            if (digits() == 0) return fail("a number without digits in its exponent");
        }
        if (real) nodes_[node].kind = Kind::kReal;
        close(node, !real && whole <= kPlainDigits && !(negative && zero));
        const auto fits = [&] { return std::isfinite(JsonValue::number_of(text_.substr(begin, at_ - begin))); };
        return (!real && whole <= kPlainDigits) || fits() || fail("a number beyond all bounds");
    }

    bool string() {
        const std::uint32_t node = open(Kind::kString);
        ++at_;
        bool plain = true;
        for (;;) {
            if (at_ == text_.size()) return fail("a string without end");
            const unsigned char c = here();
            if (c == '"') break;
            if (c == '\\') {
                plain = false;
                if (!escape()) return false;
            } else if (c < 0x20) {
                return fail("a control character in a string");
            } else if (c < 0x80) {
                ++at_;
            } else if (!sequence()) {
                return fail("a string that is not UTF-8");
            }
        }
        ++at_;
        return close(node, plain);
    }

    std::optional<unsigned> hex4() {
        unsigned code = 0;
        if (at_ + 4 > text_.size()) return std::nullopt;
        const char* first = text_.data() + at_;
        const auto [end, error] = std::from_chars(first, first + 4, code, 16);
        if (error != std::errc() || end != first + 4) return std::nullopt;
        at_ += 4;
        return code;
    }

    bool escape() {
        ++at_;
        const unsigned char c = here();
        if (at_ == text_.size() ||
            std::string_view("\"\\/bfnrtu").find(static_cast<char>(c)) == std::string_view::npos) {
            return fail("an unknown escape in a string");
        }
        ++at_;
        if (c != 'u') return true;
        const auto code = hex4();
        if (!code || (*code >= 0xDC00 && *code < 0xE000)) return fail("a wrong \\u in a string");
        if (*code < 0xD800 || *code >= 0xE000) return true;
        if (!take('\\') || !take('u')) return fail("half of a surrogate pair in a string");
        const auto low = hex4();
        return (low && *low >= 0xDC00 && *low < 0xE000) || fail("half of a surrogate pair in a string");
    }

    /// One character of two to four bytes: no overlong form, no surrogate, nothing above U+10FFFF.
    bool sequence() {
        const unsigned char c = here();
        const std::size_t length = c >= 0xC2 && c < 0xE0   ? 2
                                   : c >= 0xE0 && c < 0xF0 ? 3
                                   : c >= 0xF0 && c < 0xF5 ? 4
                                                           : 0;
        if (length == 0 || at_ + length > text_.size()) return false;
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text_[at_ + i]); };
        for (std::size_t i = 1; i < length; ++i) {
            if ((byte(i) & 0xC0U) != 0x80) return false;
        }
        if ((c == 0xE0 && byte(1) < 0xA0) || (c == 0xED && byte(1) >= 0xA0)) return false;
        if ((c == 0xF0 && byte(1) < 0x90) || (c == 0xF4 && byte(1) >= 0x90)) return false;
        at_ += length;
        return true;
    }

    bool array() {
        if (left_-- == 0) return fail("nested too deeply");
        const std::uint32_t node = open(Kind::kArray);
        ++at_;
        bool canonical = !skip_space();
        for (bool first = true; !take(']'); first = false) {
            if (!first && !take(',')) return fail("neither a comma nor the end of a list");
            if (!first && skip_space()) canonical = false;
            const std::size_t item = nodes_.size();
            if (!value()) return false;
            canonical = !skip_space() && canonical && nodes_[item].canonical;
        }
        ++left_;
        return close(node, canonical);
    }

    bool object() {
        if (left_-- == 0) return fail("nested too deeply");
        const std::uint32_t node = open(Kind::kObject);
        ++at_;
        bool canonical = !skip_space();
        bool ascending = true;
        std::string_view last;
        for (bool first = true; !take('}'); first = false) {
            if (!first && !take(',')) return fail("neither a comma nor the end of an object");
            if (!first && skip_space()) canonical = false;
            if (here() != '"') return fail("a member without a key");
            const std::size_t key = nodes_.size();
            if (!string()) return false;
            const std::string_view name = text_.substr(nodes_[key].begin + 1, nodes_[key].end - nodes_[key].begin - 2);
            ascending = ascending && (first || last < name);
            last = name;
            if (skip_space()) canonical = false;
            if (!take(':')) return fail("a key without a value");
            if (skip_space()) canonical = false;
            const std::size_t member = nodes_.size();
            if (!value()) return false;
            canonical = !skip_space() && canonical && nodes_[key].canonical && nodes_[member].canonical;
        }
        ++left_;
        close(node, canonical && ascending);
        return ascending || keys_differ(node);
    }

    bool keys_differ(std::uint32_t object) {
        std::vector<std::string_view> keys;
        for (std::uint32_t at = object + 1; at < nodes_[object].next; at = nodes_[at + 1].next) {
            keys.push_back(text_.substr(nodes_[at].begin, nodes_[at].end - nodes_[at].begin));
        }
        std::sort(keys.begin(), keys.end());
        return std::adjacent_find(keys.begin(), keys.end()) == keys.end() || fail("an object with the same key twice");
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    int left_;
    std::vector<JsonTape::Node>& nodes_;
};

Result<JsonTape> JsonTape::parse(std::string_view text, int max_nesting) {
    if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
        return Error{ErrorKind::kCorruption, "a JSON text of 4 GiB or more"};
    }
    JsonTape tape;
    tape.text_ = text;
    tape.nodes_.reserve(text.size() / 16 + 4);
    JsonReader reader(text, max_nesting, tape.nodes_);
    if (reader.document()) return tape;
    return Error{ErrorKind::kCorruption, reader.wrong + " (byte " + std::to_string(reader.place() + 1) + ")"};
}

bool JsonValue::is_null() const {
    return tape_->nodes_[index_].kind == JsonTape::Kind::kNull;
}
bool JsonValue::is_object() const {
    return tape_->nodes_[index_].kind == JsonTape::Kind::kObject;
}
bool JsonValue::is_array() const {
    return tape_->nodes_[index_].kind == JsonTape::Kind::kArray;
}
bool JsonValue::is_string() const {
    return tape_->nodes_[index_].kind == JsonTape::Kind::kString;
}
bool JsonValue::is_number() const {
    const JsonTape::Kind kind = tape_->nodes_[index_].kind;
    return kind == JsonTape::Kind::kInteger || kind == JsonTape::Kind::kReal;
}

std::string_view JsonValue::raw() const {
    const JsonTape::Node& node = tape_->nodes_[index_];
    return tape_->text_.substr(node.begin, node.end - node.begin);
}

std::string JsonValue::canonical() const {
    if (tape_->nodes_[index_].canonical) return std::string(raw());
    return nlohmann::json::parse(raw()).dump();
}

std::string JsonValue::text() const {
    if (tape_->nodes_[index_].canonical) return std::string(raw().substr(1, raw().size() - 2));
    return nlohmann::json::parse(raw()).get<std::string>();
}

std::optional<std::int64_t> JsonValue::integer() const {
    if (tape_->nodes_[index_].kind != JsonTape::Kind::kInteger) return std::nullopt;
    std::int64_t value = 0;
    const std::string_view digits = raw();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) return std::nullopt;
    return value;
}

double JsonValue::number_of(std::string_view digits) {
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    // Too small or too large for a double: strtod says which.
    return error == std::errc() ? value : std::strtod(std::string(digits).c_str(), nullptr);
}

double JsonValue::number() const {
    return number_of(raw());
}

JsonValue JsonValue::find(std::string_view key) const {
    if (!is_object()) return {};
    for (std::uint32_t at = index_ + 1; at < after(index_); at = after(at + 1)) {
        const JsonTape::Node& node = tape_->nodes_[at];
        const bool same = node.canonical ? tape_->text_.substr(node.begin + 1, node.end - node.begin - 2) == key
                                         : at_index(at).text() == key;
        if (same) return at_index(at + 1);
    }
    return {};
}

}  // namespace tunefarm
