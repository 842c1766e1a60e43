// SPDX-License-Identifier: MIT
#include "storage/miopen/driver_flags.h"

#include <algorithm>
#include <charconv>

namespace tunefarm::miopen {

namespace {

std::string shown(std::string_view word) {
    return "'" + std::string(word.substr(0, 60)) + "'";
}

}  // namespace

Result<DriverFlags> DriverFlags::parse(std::span<const std::string_view> words, std::span<const FlagRule> rules) {
    DriverFlags flags;
    flags.rules_ = rules;
    for (std::size_t i = 0; i < words.size(); i += 2) {
        const std::string_view word = words[i];
        const bool is_long = word.starts_with("--");
        const auto rule = std::ranges::find_if(rules, [&](const FlagRule& r) {
            return is_long ? word.substr(2) == r.long_name
                           : word.size() == 2 && word[0] == '-' && word[1] == r.short_name;
        });
        if (rule == rules.end()) return Error{ErrorKind::kInput, "unknown flag " + shown(word)};
        if (i + 1 == words.size()) return Error{ErrorKind::kInput, "the flag " + shown(word) + " has no value"};
        flags.values_[rule->long_name] = words[i + 1];
    }
    return flags;
}

std::string_view DriverFlags::text(std::string_view long_name) const {
    if (const auto value = values_.find(long_name); value != values_.end()) return value->second;
    return std::ranges::find(rules_, long_name, &FlagRule::long_name)->initial;
}

Result<std::int64_t> DriverFlags::number(std::string_view long_name, std::int64_t least, std::int64_t most) const {
    const std::string_view word = text(long_name);
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size() || value < least || value > most) {
        return Error{ErrorKind::kInput, "--" + std::string(long_name) + " is " + shown(word) + ", not a number from " +
                                            std::to_string(least) + " to " + std::to_string(most)};
    }
    return value;
}

void add_flag(std::string& command, const char* flag, std::int64_t value) {
    command += std::string(" ") + flag + " " + std::to_string(value);
}

}  // namespace tunefarm::miopen
