// SPDX-License-Identifier: MIT
#include "coordinator/plan/permutations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace tunefarm::plan {

Result<std::uint64_t> product(const std::vector<std::uint64_t>& lengths) {
    constexpr auto kLimit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    std::uint64_t count = 1;
    for (const std::uint64_t length : lengths) {
        std::uint64_t next = 0;
        if (__builtin_mul_overflow(count, length, &next) || next > kLimit) {
            std::string factors;
            for (const std::uint64_t factor : lengths) {
                if (factor > 1) factors += (factors.empty() ? "" : " x ") + std::to_string(factor);
            }
            return Error{ErrorKind::kInput, fmt::format("{} fork permutations are more than 2^63", factors)};
        }
        count = next;
    }
    return count;
}

std::vector<Parameter> overlay(const std::vector<Parameter>& common, const std::vector<Parameter>& forks) {
    std::vector<Parameter> out = common;
    for (const Parameter& fork : forks) {
        const auto same = std::find_if(out.begin(), out.end(), [&](const Parameter& p) { return p.name == fork.name; });
        if (same == out.end()) {
            out.push_back(fork);
        } else {
            same->values = fork.values;
        }
    }
    return out;
}

Permutations::Permutations(const Step& step)
    : parameters_(overlay(step.common, step.forks)), groups_(step.groups), count_(step.fork_permutations) {}

Permutations::Assignment Permutations::at(std::uint64_t number) const {
    Assignment out;
    out.reserve(parameters_.size());
    for (const Parameter& parameter : parameters_) {
        out.emplace_back(parameter.name, parameter.values[number % parameter.values.size()]);
        number /= parameter.values.size();
    }
    for (const GroupAxis& axis : groups_) {
        for (const YamlEntry& entry : axis[number % axis.size()]->entries) {
            const auto same =
                std::find_if(out.begin(), out.end(), [&](const auto& p) { return p.first == entry.key->text; });
            if (same == out.end()) {
                out.emplace_back(entry.key->text, entry.value);
            } else {
                same->second = entry.value;
            }
        }
        number /= axis.size();
    }
    return out;
}

}  // namespace tunefarm::plan
