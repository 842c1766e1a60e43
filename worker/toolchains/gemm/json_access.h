// SPDX-License-Identifier: MIT
// Reading JSON that somebody else wrote: what is absent or of another type is null or empty, never an exception.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tunefarm::gemm {

inline const nlohmann::ordered_json& member(const nlohmann::ordered_json& json, const char* key) {
    static const nlohmann::ordered_json kNull;
    if (!json.is_object()) return kNull;
    const auto found = json.find(key);
    return found == json.end() ? kNull : *found;
}

inline std::string text_of(const nlohmann::ordered_json& json, const char* key) {
    const nlohmann::ordered_json& value = member(json, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace tunefarm::gemm
