// SPDX-License-Identifier: MIT
// One list of problems out of driver commands, logs and databases: without duplicates, a direction each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "storage/miopen/driver_command.h"
#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

struct ListedProblem {
    Problem problem;
    bool inferred = false;   ///< made by completed() from a perf-db key, which no other source tells in full
    std::int64_t count = 0;  ///< how often the sources named it
    std::string file;        ///< where it was first named
    std::int64_t line = 0;
};

class ProblemList {
  public:
    /// Reads driver commands, or a log of the library with MIOPEN_ENABLE_LOGGING_CMD. What is wrong with a line is an
    /// issue; a line without a command is one (a warning), unless the text is a log, which says other things, too.
    void add_commands(const std::string& file, std::string_view text);
    /// The problems of a find-db's or perf-db's keys; a key that is no convolution is an issue.
    void add_database(const TuningDb& db);

    /// Convolutions by find-db key, then batch norms and poolings by command. What a perf-db key says is left out where
    /// another source says it in full.
    std::vector<ListedProblem> finish();

    Issues issues;
    std::int64_t unsupported = 0;  ///< commands of other layers

  private:
    void add(Problem problem, const std::string& file, std::int64_t line);
    std::map<std::string, ListedProblem> exact_;    // by kind and name
    std::map<std::string, ListedProblem> partial_;  // by perf-db key
};

}  // namespace tunefarm::miopen
