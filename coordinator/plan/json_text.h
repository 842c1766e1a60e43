// SPDX-License-Identifier: MIT
// Text for machines and for people. JSON is canonical: one spelling for each value, so that equal values have equal
// digests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tunefarm::plan {

/// Appends `text` (UTF-8) as a JSON string; escapes only what JSON demands.
void append_json(std::string& out, std::string_view text);
/// The shortest decimal that reads back as `number` (finite), with a point or an exponent: 1.0 stays a float.
void append_json(std::string& out, double number);
void append_json(std::string& out, std::int64_t number);
void append_json(std::string& out, std::uint64_t number);
inline void append_json(std::string& out, const char* text) {
    append_json(out, std::string_view(text));
}
inline void append_json(std::string& out, const std::string& text) {
    append_json(out, std::string_view(text));
}
inline void append_json(std::string& out, std::uint32_t number) {
    append_json(out, std::uint64_t{number});
}

/// A list of lists of integers, and a list of strings.
void append_json(std::string& out, const std::vector<std::vector<std::int64_t>>& lists);
void append_json(std::string& out, const std::vector<std::string>& names);

/// `text` for a message: at most `limit` bytes, and no control characters that a terminal would obey.
std::string for_people(std::string_view text, std::size_t limit);

}  // namespace tunefarm::plan
