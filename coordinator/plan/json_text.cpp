// SPDX-License-Identifier: MIT
#include "coordinator/plan/json_text.h"

#include <array>
#include <charconv>

namespace tunefarm::plan {
namespace {

template <typename Number>
std::string_view digits(std::array<char, 32>& buffer, Number number) {
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
    return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
    constexpr std::string_view kHex = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        switch (c) {
            case '"': out += "\\\""; break;
            case '\\': out += "\\\\"; break;
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            default:
                if (const auto byte = static_cast<unsigned char>(c); byte < 0x20) {
                    out += "\\u00";
                    out += kHex[byte >> 4U];
                    out += kHex[byte & 15U];
                } else {
                    out += c;
                }
        }
    }
    out += '"';
}

void append_json(std::string& out, double number) {
    std::array<char, 32> buffer{};
    const std::string_view text = digits(buffer, number);
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_json(std::string& out, std::int64_t number) {
    std::array<char, 32> buffer{};
    out += digits(buffer, number);
}

void append_json(std::string& out, std::uint64_t number) {
    std::array<char, 32> buffer{};
    out += digits(buffer, number);
}

void append_json(std::string& out, const std::vector<std::vector<std::int64_t>>& lists) {
    out += '[';
    for (std::size_t i = 0; i < lists.size(); ++i) {
        out += i == 0 ? "[" : ",[";
        for (std::size_t k = 0; k < lists[i].size(); ++k) {
            if (k > 0) out += ',';
            append_json(out, lists[i][k]);
        }
        out += ']';
    }
    out += ']';
}

void append_json(std::string& out, const std::vector<std::string>& names) {
    out += '[';
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) out += ',';
        append_json(out, names[i]);
    }
    out += ']';
}

std::string for_people(std::string_view text, std::size_t limit) {
    std::string out(text.substr(0, limit));
    if (text.size() > limit) {
        // A cut character would be invalid UTF-8.
        while (!out.empty() && (static_cast<unsigned char>(text[out.size()]) & 0xC0U) == 0x80U) out.pop_back();
        out += "...";
    }
    for (char& c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
    }
    return out;
}

}  // namespace tunefarm::plan
