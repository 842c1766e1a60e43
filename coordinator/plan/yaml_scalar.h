// SPDX-License-Identifier: MIT
// What a plain YAML 1.1 scalar means, as PyYAML's resolver and safe constructor see it. Surprising but intended: `1e5`
// is text (a float needs a point, and a sign after e), `010` is 8, `1:30` is 90, `yes` is true.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace tunefarm::plan {

struct YamlNullScalar {};
/// The text is a scalar of a kind that cannot be represented; the string says why.
struct YamlBadScalar {
    std::string why;
};
/// std::monostate: text. Timestamps are text too.
using YamlScalar = std::variant<std::monostate, YamlNullScalar, bool, std::int64_t, double, YamlBadScalar>;

YamlScalar resolve_scalar(std::string_view text);
/// The number that an explicit !!int or !!float asks for, YamlBadScalar if it is none.
YamlScalar resolve_int(std::string_view text);
YamlScalar resolve_float(std::string_view text);
/// nullptr-like (monostate) unless a boolean word.
YamlScalar resolve_bool(std::string_view text);

}  // namespace tunefarm::plan
