// SPDX-License-Identifier: MIT
// A part of a find-db or perf-db.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "storage/miopen/problem.h"
#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

/// Empty members select everything.
struct Filter {
    std::string directions;            ///< letters of F, B, W
    std::vector<DataType> types;       ///< of the input
    std::vector<std::string> layouts;  ///< of the input
    int spatial_dims = 0;              ///< 2 or 3
    std::vector<std::string> solvers;  ///< names; one that ends in '*' is the beginning of names
    std::vector<std::string> not_solvers;
    const TuningDb* keys_of = nullptr;  ///< only problems that this database has
    std::size_t keep = 0;               ///< find-dbs: so many fastest solvers of each key
};

/// Drops what is not selected, and keys without an item left. A find-db must be in format 2.0. kInput with file and
/// line for a key that is no problem while the filter asks for one's properties.
Status filter(TuningDb& db, const Filter& filter);

}  // namespace tunefarm::miopen
