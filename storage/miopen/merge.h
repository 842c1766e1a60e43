// SPDX-License-Identifier: MIT
// One database out of several of the same kind. Deterministic: the inputs' order counts, their times of writing do not.
#pragma once

#include <string>
#include <vector>

#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

struct MergeOptions {
    enum class Rule : std::uint8_t {
        kBestTime,  ///< the fastest; between equal times the later input's
        kNewest,    ///< the later input's
    };
    enum class Unit : std::uint8_t {
        kKey,     ///< whole records: what one input says of a key, as the library treats a user's find-db
        kSolver,  ///< single items, from all inputs
    };
    Rule rule = Rule::kBestTime;
    Unit unit = Unit::kSolver;
    std::size_t keep = 0;  ///< find-dbs: so many fastest solvers of each key; 0: all
};

/// Two inputs that say different things of the same: one item (solver), or one key (solver is empty).
struct Conflict {
    std::string key;
    std::string solver;
    std::string kept_file;
    std::string kept;
    std::string dropped_file;
    std::string dropped;
};

struct Merged {
    TuningDb db;
    std::vector<Conflict> conflicts;  ///< by key and solver
};

/// `inputs` go from oldest to newest and are in format 2.0; the result is sorted. For perf-dbs, which hold no times,
/// kBestTime needs `times`: one find-db for each input, whose items tell how fast its parameters were. A row that its
/// find-db has no time for counts as slower than any that has one. kInput when kinds are mixed or an option does not
/// fit.
Result<Merged> merge(const std::vector<const TuningDb*>& inputs, const std::vector<const TuningDb*>& times,
                     const MergeOptions& options);

/// Leaves only the `keep` fastest items of each key of a find-db.
void keep_fastest(TuningDb& db, std::size_t keep);

}  // namespace tunefarm::miopen
