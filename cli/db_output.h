// SPDX-License-Identifier: MIT
// What the subcommands of `db` and `kdb` share: complete output or an error, and issues for people and machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "storage/miopen/tuning_db.h"

namespace tunefarm::cli {

using Json = nlohmann::ordered_json;

/// Writes everything to standard output; the exit code (a full disk is a failure).
int print(const std::string& text);
/// With "version": 1 in front. Bytes that are no UTF-8 become U+FFFD.
int print(const Json& json);

/// [{"severity","file","line","message"}…]
Json to_json(const miopen::Issues& issues);
/// The first `limit` issues, one a line, and how many are not shown.
std::string to_text(const miopen::Issues& issues, std::size_t limit);
/// To standard error, for commands whose output is a file.
void warn(const miopen::Issues& issues);

}  // namespace tunefarm::cli
