// SPDX-License-Identifier: MIT
// Fork permutations by number, without ever making the list: mixed radix, first parameter fastest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "coordinator/plan/config.h"

namespace tunefarm::plan {

/// The product of `lengths`; kInput with the factors if it exceeds 2^63 - 1. An empty product is 1.
Result<std::uint64_t> product(const std::vector<std::uint64_t>& lengths);

/// The parameter space of one step. Parameters are in config order: common ones (with the fork parameters' values where
/// both name one), then new fork parameters, then the group axes. TensileLite sorts by its own default list first, so
/// permutation numbers of that toolchain are its driver's to give.
/// Refers to the Config's nodes; use it no longer than the Config. Const methods are thread-safe.
class Permutations {
  public:
    explicit Permutations(const Step& step);

    std::uint64_t count() const { return count_; }

    using Assignment = std::vector<std::pair<std::string, const YamlNode*>>;
    /// All parameters of permutation `number` (< count()). A group's element replaces a value of the same name.
    Assignment at(std::uint64_t number) const;

    const std::vector<Parameter>& parameters() const { return parameters_; }

  private:
    std::vector<Parameter> parameters_;
    std::vector<GroupAxis> groups_;
    std::uint64_t count_ = 1;
};

/// Common parameters overlaid by fork parameters, as the class comment says.
std::vector<Parameter> overlay(const std::vector<Parameter>& common, const std::vector<Parameter>& forks);

}  // namespace tunefarm::plan
