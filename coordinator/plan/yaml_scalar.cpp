// SPDX-License-Identifier: MIT
#include "coordinator/plan/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace tunefarm::plan {
namespace {

constexpr std::array kTrue{"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"};
constexpr std::array kFalse{"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array kNull{"", "~", "null", "Null", "NULL"};

bool digit(char c) {
    return c >= '0' && c <= '9';
}

template <typename Words>
bool one_of(std::string_view text, const Words& words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

std::string_view without_sign(std::string_view text) {
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
    return text;
}

template <typename Predicate>
bool all(std::string_view text, Predicate predicate) {
    return std::all_of(text.begin(), text.end(), predicate);
}

/// (:[0-5]?[0-9])+ as a whole.
bool sexagesimal_tail(std::string_view text) {
    if (text.empty()) return false;
    while (!text.empty()) {
        if (text[0] != ':') return false;
        text.remove_prefix(1);
        std::size_t digits = 0;
        while (digits < text.size() && digit(text[digits])) ++digits;
        if (digits == 0 || digits > 2 || (digits == 2 && text[0] > '5')) return false;
        text.remove_prefix(digits);
    }
    return true;
}

bool looks_like_int(std::string_view text) {
    text = without_sign(text);
    if (text.empty() || !digit(text[0])) return false;
    const std::string_view rest = text.substr(1);
    if (text[0] == '0') {
        if (rest.empty()) return true;
        if (rest[0] == 'b') {
            return rest.size() > 1 && all(rest.substr(1), [](char c) { return c == '0' || c == '1' || c == '_'; });
        }
        if (rest[0] == 'x') {
            return rest.size() > 1 && all(rest.substr(1), [](char c) {
                       return digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '_';
                   });
        }
        return all(rest, [](char c) { return (c >= '0' && c <= '7') || c == '_'; });
    }
    const std::size_t colon = text.find(':');
    if (!all(text.substr(0, colon), [](char c) { return digit(c) || c == '_'; })) return false;
    return colon == std::string_view::npos || sexagesimal_tail(text.substr(colon));
}

bool looks_like_float(std::string_view text) {
    const std::string_view bare = without_sign(text);
    if (one_of(bare, std::array{".inf", ".Inf", ".INF"})) return true;
    if (one_of(text, std::array{".nan", ".NaN", ".NAN"})) return true;
    const std::size_t point = bare.find('.');
    if (point == std::string_view::npos) return false;
    const std::string_view whole = bare.substr(0, point);
    const std::string_view after = bare.substr(point + 1);
    const auto digit_or_underscore = [](char c) { return digit(c) || c == '_'; };
    if (const std::size_t colon = whole.find(':'); colon != std::string_view::npos) {
        return colon > 0 && digit(whole[0]) && all(whole.substr(0, colon), digit_or_underscore) &&
               sexagesimal_tail(whole.substr(colon)) && all(after, digit_or_underscore);
    }
    if (whole.empty()) {
        // A leading point takes no sign, and needs a digit behind it.
        if (bare.size() != text.size() || after.empty() || !digit(after[0])) return false;
    } else if (!digit(whole[0]) || !all(whole, digit_or_underscore)) {
        return false;
    }
    const std::size_t e = after.find_first_of("eE");
    if (!all(after.substr(0, e), digit_or_underscore)) return false;
    if (e == std::string_view::npos) return true;
    const std::string_view exponent = after.substr(e + 1);
    return exponent.size() >= 2 && (exponent[0] == '-' || exponent[0] == '+') && all(exponent.substr(1), digit);
}

std::string without_underscores(std::string_view text) {
    std::string out(text);
    std::erase(out, '_');
    return out;
}

YamlScalar too_large() {
    return YamlBadScalar{"the integer does not fit in 64 bits"};
}

}  // namespace

YamlScalar resolve_bool(std::string_view text) {
    if (one_of(text, kTrue)) return true;
    if (one_of(text, kFalse)) return false;
    return std::monostate{};
}

YamlScalar resolve_int(std::string_view text) {
    const bool negative = !text.empty() && text[0] == '-';
    std::string digits = without_underscores(without_sign(text));
    std::uint64_t value = 0;
    if (digits.find(':') != std::string::npos) {
        std::size_t start = 0;
        while (start <= digits.size()) {
            const std::size_t end = std::min(digits.find(':', start), digits.size());
            std::uint64_t part = 0;
            const auto parsed = std::from_chars(digits.data() + start, digits.data() + end, part);
            if (parsed.ec != std::errc{} || parsed.ptr != digits.data() + end) return YamlBadScalar{"not an integer"};
            if (__builtin_mul_overflow(value, std::uint64_t{60}, &value) ||
                __builtin_add_overflow(value, part, &value)) {
                return too_large();
            }
            start = end + 1;
        }
    } else {
        int base = 10;
        std::string_view body = digits;
        if (body.starts_with("0b")) {
            base = 2;
            body.remove_prefix(2);
        } else if (body.starts_with("0x")) {
            base = 16;
            body.remove_prefix(2);
        } else if (body.size() > 1 && body[0] == '0') {
            base = 8;
            body.remove_prefix(1);
        }
        const auto parsed = std::from_chars(body.data(), body.data() + body.size(), value, base);
        if (parsed.ec == std::errc::result_out_of_range) return too_large();
        if (body.empty() || parsed.ec != std::errc{} || parsed.ptr != body.data() + body.size()) {
            return YamlBadScalar{"not an integer"};
        }
    }
    const auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > limit + (negative ? 1 : 0)) return too_large();
    return static_cast<std::int64_t>(negative ? 0 - value : value);
}

YamlScalar resolve_float(std::string_view text) {
    const double sign = !text.empty() && text[0] == '-' ? -1.0 : 1.0;
    std::string body = without_underscores(without_sign(text));
    std::transform(body.begin(), body.end(), body.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (body == ".inf") return sign * std::numeric_limits<double>::infinity();
    if (body == ".nan") return std::numeric_limits<double>::quiet_NaN();
    double value = 0.0;
    std::size_t start = 0;
    while (start <= body.size()) {
        const std::size_t end = std::min(body.find(':', start), body.size());
        double part = 0.0;
        const auto parsed = std::from_chars(body.data() + start, body.data() + end, part);
        if (parsed.ec == std::errc::result_out_of_range) {
            // from_chars does not say which way; strtod gives infinity or the nearest subnormal, as Python does.
            part = std::strtod(body.substr(start, end - start).c_str(), nullptr);
        } else if (parsed.ec != std::errc{} || parsed.ptr != body.data() + end) {
            return YamlBadScalar{"not a number"};
        }
        value = value * 60.0 + part;
        start = end + 1;
    }
    return sign * value;
}

YamlScalar resolve_scalar(std::string_view text) {
    if (one_of(text, kNull)) return YamlNullScalar{};
    if (YamlScalar word = resolve_bool(text); !std::holds_alternative<std::monostate>(word)) return word;
    const char first = text[0];
    if (!digit(first) && first != '-' && first != '+' && first != '.') return std::monostate{};
    if (looks_like_float(text)) return resolve_float(text);
    if (looks_like_int(text)) return resolve_int(text);
    return std::monostate{};
}

}  // namespace tunefarm::plan
