// SPDX-License-Identifier: MIT
// The layers behind driver_command.h, one function each way.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/miopen/driver_command.h"

namespace tunefarm::miopen {

/// The data types that a base argument stands for; nullopt: it is no convolution's.
struct ConvTypes {
    DataType in;
    DataType weights;
    DataType out;
};
std::optional<ConvTypes> conv_types(std::string_view base);

Result<std::vector<Problem>> parse_conv(const ConvTypes& types, std::span<const std::string_view> words);
std::optional<std::string> conv_command(const ConvProblem& problem);

bool is_batch_norm(std::string_view base);
Result<std::vector<Problem>> parse_batch_norm(std::string_view base, std::span<const std::string_view> words);
std::string batch_norm_command(const BatchNormProblem& problem);

bool is_pooling(std::string_view base);
Result<std::vector<Problem>> parse_pooling(std::string_view base, std::span<const std::string_view> words);
std::string pooling_command(const PoolingProblem& problem);

}  // namespace tunefarm::miopen
