// SPDX-License-Identifier: MIT
// The step document that `prepare` writes (docs/drivers.md), checked. It comes from a driver and is not trusted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tunefarm::server {

struct StepDocument {
    struct Kernel {
        std::string name;
        std::string args;  ///< JSON object, canonical: keys sorted, no spaces
        float cost = 1;
    };
    struct Solution {
        std::string name;
        std::int32_t kernel = 0;
        std::string parameters;  ///< JSON object
    };
    struct Problem {
        std::string name;
        std::string sizes;  ///< JSON array
        double flop = 0;
        std::string json;  ///< the whole entry, for the driver
    };
    std::vector<Kernel> kernels;
    std::vector<Solution> solutions;
    std::vector<Problem> problems;

    std::map<std::string, std::int32_t> solution_index() const;
};

/// kCorruption: what the document lacks or has wrong, with the place.
Result<StepDocument> parse_step_document(std::string_view json);

}  // namespace tunefarm::server
