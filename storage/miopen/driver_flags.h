// SPDX-License-Identifier: MIT
// The flags of one MIOpenDriver command: each takes exactly one value.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tunefarm::miopen {

struct FlagRule {
    char short_name;
    std::string_view long_name;
    std::string_view initial;  ///< the driver's default
};

class DriverFlags {
  public:
    /// kInput for a flag that is not in `rules` or has no value.
    static Result<DriverFlags> parse(std::span<const std::string_view> words, std::span<const FlagRule> rules);

    bool given(std::string_view long_name) const { return values_.contains(long_name); }
    std::string_view text(std::string_view long_name) const;
    /// kInput unless it is a whole number from `least` to `most`.
    Result<std::int64_t> number(std::string_view long_name, std::int64_t least, std::int64_t most = 1LL << 31) const;

  private:
    std::span<const FlagRule> rules_;
    std::map<std::string_view, std::string_view> values_;
};

/// Appends " FLAG VALUE".
void add_flag(std::string& command, const char* flag, std::int64_t value);

}  // namespace tunefarm::miopen
