// SPDX-License-Identifier: MIT
#include "storage/miopen/driver_command.h"

#include <algorithm>
#include <array>

#include "storage/miopen/driver_problems.h"

namespace tunefarm::miopen {

namespace {

/// Other layers of the driver, so that a command can be told from chatter. Each may have a data type at its end.
constexpr std::array<std::string_view, 35> kOtherLayers = {"CBAInfer",
                                                           "activ",
                                                           "adam",
                                                           "adamw",
                                                           "addlayernorm",
                                                           "ampadam",
                                                           "ampadamw",
                                                           "cat",
                                                           "ctc",
                                                           "dropout",
                                                           "gemm",
                                                           "getitem",
                                                           "glu",
                                                           "groupnorm",
                                                           "kthvalue",
                                                           "layernorm",
                                                           "lrn",
                                                           "multimarginloss",
                                                           "prelu",
                                                           "reduce",
                                                           "reducecalculation",
                                                           "reduceextreme",
                                                           "rnn",
                                                           "rnn_seq",
                                                           "rope",
                                                           "softmarginloss",
                                                           "softmax",
                                                           "sum",
                                                           "t5layernorm",
                                                           "tensorop",
                                                           "transformersadamw",
                                                           "transformersampadamw",
                                                           "mha",
                                                           "instancenorm",
                                                           "bnormact"};
constexpr std::array<std::string_view, 6> kTypeEndings = {"fp16", "bfp16", "fp64", "int8", "fp32", ""};

bool is_other_layer(std::string_view word) {
    return std::ranges::any_of(kOtherLayers, [&](std::string_view layer) {
        return word.starts_with(layer) &&
               std::ranges::find(kTypeEndings, word.substr(layer.size())) != kTypeEndings.end();
    });
}

bool is_base(std::string_view word) {
    return conv_types(word) || is_batch_norm(word) || is_pooling(word) || is_other_layer(word);
}

std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view blanks = " \t\r";
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t begin = line.find_first_not_of(blanks);
        if (begin == std::string_view::npos) return words;
        line.remove_prefix(begin);
        const std::size_t end = std::min(line.find_first_of(blanks), line.size());
        words.push_back(line.substr(0, end));
        line.remove_prefix(end);
    }
}

bool is_driver(std::string_view word) {
    return word.ends_with("MIOpenDriver") || word.ends_with("MIOpenDriver.exe");
}

}  // namespace

Result<DriverLine> parse_driver_line(std::string_view line) {
    DriverLine result;
    while (!line.empty() && std::string_view("` \t\r").find(line.back()) != std::string_view::npos)
        line.remove_suffix(1);
    while (line.starts_with('`')) line.remove_prefix(1);
    std::vector<std::string_view> words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) return result;

    std::string_view base = "conv";
    const auto driver = std::ranges::find_if(words, is_driver);
    if (driver != words.end()) {
        words.erase(words.begin(), driver + 1);
        if (words.empty()) return Error{ErrorKind::kInput, "MIOpenDriver without arguments"};
        base = words[0];
        words.erase(words.begin());
    } else if (is_base(words[0])) {
        base = words[0];
        words.erase(words.begin());
    } else if (!words[0].starts_with('-')) {
        if (words.size() > 1) return result;
        Result<ConvProblem> key = parse_find_key(words[0]);
        if (!key.ok()) return result;
        result.kind = DriverLine::Kind::kProblems;
        result.base = "conv";
        result.problems.emplace_back(std::move(*key));
        return result;
    }
    result.base = base;
    Result<std::vector<Problem>> problems = std::vector<Problem>();
    if (const std::optional<ConvTypes> types = conv_types(base)) {
        problems = parse_conv(*types, words);
    } else if (is_batch_norm(base)) {
        problems = parse_batch_norm(base, words);
    } else if (is_pooling(base)) {
        problems = parse_pooling(base, words);
    } else {
        result.kind = DriverLine::Kind::kUnsupported;
        return result;
    }
    if (!problems.ok()) return problems.error().in(std::string(base));
    result.kind = DriverLine::Kind::kProblems;
    result.problems = std::move(*problems);
    return result;
}

std::optional<std::string> to_driver_command(const Problem& problem) {
    if (const auto* conv = std::get_if<ConvProblem>(&problem)) return conv_command(*conv);
    if (const auto* norm = std::get_if<BatchNormProblem>(&problem)) return batch_norm_command(*norm);
    return pooling_command(std::get<PoolingProblem>(problem));
}

std::string name_of(const Problem& problem) {
    if (const auto* conv = std::get_if<ConvProblem>(&problem)) return to_find_key(*conv);
    return *to_driver_command(problem);
}

}  // namespace tunefarm::miopen
