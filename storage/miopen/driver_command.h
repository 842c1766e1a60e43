// SPDX-License-Identifier: MIT
// The command lines of MIOpenDriver, as people collect them in lists and as the library prints them with
// MIOPEN_ENABLE_LOGGING_CMD=1, and the problems that they run (driver/*_driver.hpp, src/convolution_api.cpp).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/miopen/problem.h"

namespace tunefarm::miopen {

struct BatchNormProblem {
    std::string base;      ///< "bnorm", "bnormfp16", "bnormbfp16", "bnormfp16fp32", "bnormbfp16fp32"
    char direction = 'T';  ///< T: forward training, I: inference, B: backward
    int mode = 0;          ///< 0: per activation, 1: spatial
    std::int64_t batch = 0;
    std::int64_t channels = 0;
    Extent size;  ///< d is 0 in 2D
    std::string layout;
    bool save = false;
    bool run = false;
    bool operator==(const BatchNormProblem&) const = default;
};

struct PoolingProblem {
    std::string base;  ///< "pool", "poolfp16"
    char direction = 'F';
    std::string mode;        ///< "max", "avg", "avg_in"
    std::string pad_mode;    ///< "default", "same", "valid"
    std::string index_type;  ///< "miopenIndexUint8", …
    int index_position = 0;
    std::vector<std::int64_t> lengths;  ///< N, C, [D,] H, W
    std::string layout;                 ///< a layout, or the strides: "3072x1024x32x1"
    Extent window;                      ///< d is 0 in 2D, here and below
    Extent stride;
    Extent pad;
    bool operator==(const PoolingProblem&) const = default;
};

using Problem = std::variant<ConvProblem, BatchNormProblem, PoolingProblem>;

/// What a line of a list or log is.
struct DriverLine {
    enum class Kind : std::uint8_t {
        kNothing,      ///< empty, a comment, or without a command (a log says many things)
        kUnsupported,  ///< a command of another layer than convolution, batch norm and pooling
        kProblems,
    };
    Kind kind = Kind::kNothing;
    std::string base;               ///< "convfp16"
    std::vector<Problem> problems;  ///< one for each direction that the command runs
};

/// A command: behind "MIOpenDriver" wherever that is in the line, or a line that begins with a base argument, or, in
/// lists without one, with a flag (then it is a conv). A find-db key is a problem, too. Of repeated flags the last
/// counts, as in the driver; trailing back-quotes of Markdown are ignored. kInput for an unknown flag, a flag without a
/// value, a value that is no number where one belongs, or sizes that no such layer can have: MIOpenDriver itself ends
/// well on these.
Result<DriverLine> parse_driver_line(std::string_view line);

/// The command without the program's name: "convfp16 -n 16 -c 64 … -F 1". nullopt: the driver cannot run it (its data
/// types have no base argument, or the driver would compute another output size). Reading it gives the problem again.
std::optional<std::string> to_driver_command(const Problem& problem);

/// A name that is unique for what differs: a find-db key, or the command.
std::string name_of(const Problem& problem);

/// A problem with the perf-db key of `problem`, which has one of these only: the output of the forward formula, or the
/// smallest input that has the given output, and one layout for all three tensors. Tuning it makes the same perf-db
/// rows.
/// nullopt when a size is none that a convolution can have (shipped perf-dbs hold some).
std::optional<ConvProblem> completed(const ConvProblem& problem);

}  // namespace tunefarm::miopen
