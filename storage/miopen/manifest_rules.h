// SPDX-License-Identifier: MIT
// What the reader, the writer and the maker of manifests agree on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tunefarm::miopen {

/// Letters, digits and _ . + -
bool is_manifest_value(std::string_view text);
/// Letters, digits and _, not beginning with a digit.
bool is_manifest_name(std::string_view text);
/// A file's name without a path.
bool is_kernel_file(std::string_view text);

/// Shorter ones first, then by bytes: the order of plain numbers.
bool value_comes_before(std::string_view a, std::string_view b);
bool row_comes_before(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace tunefarm::miopen
