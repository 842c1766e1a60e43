// SPDX-License-Identifier: MIT
// What an item of a find-db says, in both formats:
//   2.0   ID = solver;     VALUES = time,workspace,algorithm
//   1.0   ID = algorithm;  VALUES = solver,time,workspace,algorithm,key     (the last two are ignored)
// The library tells them apart by the ID alone (db_record.cpp, ParseContents and TransformFindDbItem10to20).
#pragma once

#include <string>
#include <string_view>

#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

struct FindItem {
    std::string_view solver;
    std::string_view algorithm;
    std::string_view time_text;  ///< as written: no digit is lost on the way to another file
    std::string_view workspace_text;
    double time_ms = 0;
    std::int64_t workspace = 0;  ///< bytes
    bool legacy = false;
};

/// kInput when a part is missing, or a number is none that the library reads as it is written: the time must be finite,
/// the workspace a plain integer.
Result<FindItem> parse_find_item(const Item& item);

/// "time,workspace,algorithm".
std::string to_find_values(const FindItem& item);

/// The same database in format 2.0: what the library makes of each legacy item when it reads it. Items that it would
/// drop (without numbers, or a solver's second one) are dropped, with an issue.
TuningDb to_format_2(const TuningDb& db);

}  // namespace tunefarm::miopen
