// SPDX-License-Identifier: MIT
// What changed between two databases of the same kind, or between two nights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

/// One key that differs, by its fastest solver (find-db) or by a solver's parameters (perf-db: one entry a row).
struct Change {
    enum class Kind : std::uint8_t {
        kAdded,
        kRemoved,
        kFaster,      ///< find-db: the fastest time fell by more than the threshold
        kSlower,      ///< find-db: it rose by more
        kWithin,      ///< find-db: within the threshold, but another solver is the fastest
        kParameters,  ///< perf-db: other parameters
    };
    Kind kind = Kind::kAdded;
    bool solver_changed = false;
    std::string key;
    std::string before_solver;  ///< perf-db: the row's solver; find-db: empty where the key is not there
    std::string after_solver;
    double before_ms = 0;
    double after_ms = 0;
    std::string before;  ///< perf-db: the parameters
    std::string after;
};
const char* to_string(Change::Kind kind);

struct Diff {
    std::vector<Change> changes;  ///< by key and solver
    std::int64_t common = 0;      ///< keys (perf-db: rows) in both
    std::int64_t equal = 0;       ///< of these, with the same fastest solver and a time within the threshold
    std::int64_t identical = 0;   ///< of these, byte for byte
    double time_ratio = 1;        ///< find-db: geometric mean over common keys of after/before
    std::int64_t count(Change::Kind kind) const;
    std::int64_t solver_changes() const;
};

/// `threshold` is relative: 0.05 is five per cent. kInput when the kinds differ or an item has no time.
Result<Diff> diff(const TuningDb& before, const TuningDb& after, double threshold);

}  // namespace tunefarm::miopen
