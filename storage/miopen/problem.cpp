// SPDX-License-Identifier: MIT
#include "storage/miopen/problem.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace tunefarm::miopen {

namespace {

// No name is the beginning of another: three of them in a row can be taken apart in one way only.
constexpr std::array<std::string_view, 10> kTypeNames = {"FP32", "FP16", "BF16", "INT8", "INT32",
                                                         "FP8",  "BF8",  "BFP8", "FP64", "INT64"};
constexpr std::size_t kMaxFindTokens = 19;
constexpr std::size_t kPerfTokens = 24;

Error bad_key(std::string_view key, const std::string& what) {
    return Error{ErrorKind::kInput, "key '" + std::string(key.substr(0, 200)) + "': " + what};
}

/// A decimal number that prints as it was written.
bool parse_number(std::string_view text, std::int64_t& value) {
    if (text.empty() || text.size() > 18 || (text.size() > 1 && text[0] == '0')) return false;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    return code == std::errc() && end == text.data() + text.size() && value >= 0;
}

/// The same with a sign: shipped perf-dbs do hold negative sizes (gfx1030_36).
bool parse_signed(std::string_view text, std::int64_t& value) {
    const bool negative = text.starts_with('-');
    if (!parse_number(text.substr(negative ? 1 : 0), value) || (negative && value == 0)) return false;
    if (negative) value = -value;
    return true;
}

/// Splits into at most `tokens.size()` parts; 0 if there are more.
std::size_t split(std::string_view text, char separator, std::span<std::string_view> tokens) {
    std::size_t count = 0;
    while (true) {
        if (count == tokens.size()) return 0;
        const std::size_t end = text.find(separator);
        tokens[count++] = text.substr(0, end);
        if (end == std::string_view::npos) return count;
        text.remove_prefix(end + 1);
    }
}

/// "RxS" or "ZxRxS".
bool parse_extent(std::string_view text, int dims, Extent& extent) {
    std::array<std::string_view, 3> parts;
    const std::size_t count = split(text, 'x', parts);
    if (count != static_cast<std::size_t>(dims)) return false;
    const std::size_t depth = dims == 3 ? 1 : 0;
    if (dims == 3 && !parse_number(parts[0], extent.d)) return false;
    return parse_number(parts[depth], extent.h) && parse_number(parts[depth + 1], extent.w);
}

bool take_type(std::string_view& text, DataType& type) {
    for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
        if (text.starts_with(kTypeNames[i])) {
            text.remove_prefix(kTypeNames[i].size());
            type = static_cast<DataType>(i);
            return true;
        }
    }
    return false;
}

/// One name for equal types, three for others.
bool parse_types(std::string_view text, ConvProblem& problem) {
    if (!take_type(text, problem.in_type)) return false;
    if (text.empty()) {
        problem.weights_type = problem.out_type = problem.in_type;
        return true;
    }
    if (!take_type(text, problem.weights_type) || !take_type(text, problem.out_type) || !text.empty()) return false;
    return problem.in_type != problem.weights_type || problem.in_type != problem.out_type;
}

bool is_default_layout(const ConvProblem& problem, std::string_view layout) {
    return problem.in_layout == layout && problem.weights_layout == layout && problem.out_layout == layout;
}

/// The keys name one layout if all three tensors have the default one of 2D or of 3D.
bool has_one_layout(const ConvProblem& problem) {
    return is_default_layout(problem, "NCHW") || is_default_layout(problem, "NCDHW");
}

bool parse_direction(std::string_view text, char& direction) {
    if (text != "F" && text != "B" && text != "W") return false;
    direction = text[0];
    return true;
}

void append(std::string& text, std::int64_t value) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

void append_extent(std::string& text, char separator, int dims, const Extent& extent) {
    if (dims == 3) {
        append(text, extent.d);
        text += separator;
    }
    append(text, extent.h);
    text += separator;
    append(text, extent.w);
}

void append_types(std::string& text, const ConvProblem& problem) {
    text += to_string(problem.in_type);
    if (problem.in_type == problem.weights_type && problem.in_type == problem.out_type) return;
    text += to_string(problem.weights_type);
    text += to_string(problem.out_type);
}

/// The part behind the direction: "_g2_ciFP8".
const char* parse_options(std::string_view options, ConvProblem& problem) {
    int order = 0;  // they come in one order only
    while (!options.empty()) {
        options.remove_prefix(1);
        const std::size_t end = options.find('_');
        const std::string_view option = options.substr(0, end);
        options.remove_prefix(option.size());
        int place = 0;
        if (option.starts_with("g")) {
            place = 1;
            if (!parse_number(option.substr(1), problem.group_count) || problem.group_count < 2) {
                return "a group count is written from 2 on";
            }
        } else if (option.starts_with("c") && option.size() > 2) {
            const std::optional<DataType> type = parse_data_type(option.substr(2));
            if (!type) return "a cast type has no known name";
            std::optional<DataType>* cast = nullptr;
            if (option[1] == 'i') place = 2, cast = &problem.in_cast;
            if (option[1] == 'w') place = 3, cast = &problem.weights_cast;
            if (option[1] == 'o') place = 4, cast = &problem.out_cast;
            if (cast == nullptr) return "an option is none of _g, _ci, _cw, _co";
            *cast = type;
        } else {
            return "an option is none of _g, _ci, _cw, _co";
        }
        if (place <= order) return "the options are not in the order _g, _ci, _cw, _co";
        order = place;
    }
    return nullptr;
}

}  // namespace

std::string_view to_string(DataType type) {
    return kTypeNames[static_cast<std::size_t>(type)];
}

std::optional<DataType> parse_data_type(std::string_view name) {
    for (std::size_t i = 0; i < kTypeNames.size(); ++i) {
        if (name == kTypeNames[i]) return static_cast<DataType>(i);
    }
    return std::nullopt;
}

int layout_dimensions(std::string_view layout) {
    if (layout == "NCHW") return 4;
    if (layout == "NCDHW") return 5;
    if (layout.ends_with('c')) layout.remove_suffix(1);
    if (layout.size() != 4 && layout.size() != 5) return 0;
    std::array<char, 5> letters{};
    std::ranges::copy(layout, letters.begin());
    std::ranges::sort(letters.begin(), letters.begin() + static_cast<std::ptrdiff_t>(layout.size()));
    const std::string_view sorted(letters.data(), layout.size());
    if (sorted == "CHNW") return 4;
    return sorted == "CDHNW" ? 5 : 0;
}

Result<ConvProblem> parse_find_key(std::string_view key) {
    std::array<std::string_view, kMaxFindTokens> tokens;
    const std::size_t option_begin = std::min(key.find('_'), key.size());
    const std::size_t count = split(key.substr(0, option_begin), '-', tokens);
    // 17 parts can be both: 2D with three layouts or 3D with one. The filter is the first part with an 'x'.
    const bool is_3d = count > 4 && tokens[3].find('x') == std::string_view::npos;
    const std::size_t dims = is_3d ? 3 : 2;
    const std::size_t fixed = is_3d ? 14 : 12;
    if (count != fixed + 3 && count != fixed + 5) {
        return bad_key(key, "has " + std::to_string(count) + " parts between '-', not 15 or 17 (2D), 17 or 19 (3D)");
    }

    ConvProblem problem;
    problem.spatial_dims = static_cast<int>(dims);
    problem.pad.d = problem.stride.d = problem.dilation.d = 0;
    std::size_t at = 0;
    bool numbers = parse_number(tokens[at++], problem.in_channels);
    if (is_3d) numbers = numbers && parse_number(tokens[at++], problem.in.d);
    numbers = numbers && parse_number(tokens[at++], problem.in.h) && parse_number(tokens[at++], problem.in.w);
    if (!numbers) return bad_key(key, "the input sizes before the filter are not plain numbers");
    if (!parse_extent(tokens[at++], problem.spatial_dims, problem.filter)) return bad_key(key, "bad filter size");
    numbers = parse_number(tokens[at++], problem.out_channels);
    if (is_3d) numbers = numbers && parse_number(tokens[at++], problem.out.d);
    numbers = numbers && parse_number(tokens[at++], problem.out.h) && parse_number(tokens[at++], problem.out.w);
    numbers = numbers && parse_number(tokens[at++], problem.batch);
    if (!numbers) return bad_key(key, "the output sizes or the batch size are not plain numbers");
    if (problem.out.h == 0) return bad_key(key, "the output height is 0");
    if (!parse_extent(tokens[at++], problem.spatial_dims, problem.pad)) return bad_key(key, "bad padding");
    if (!parse_extent(tokens[at++], problem.spatial_dims, problem.stride)) return bad_key(key, "bad stride");
    if (!parse_extent(tokens[at++], problem.spatial_dims, problem.dilation)) return bad_key(key, "bad dilation");
    if (!parse_number(tokens[at++], problem.bias)) return bad_key(key, "bad bias flag");

    problem.in_layout = tokens[at++];
    const bool three_layouts = count == fixed + 5;
    problem.weights_layout = three_layouts ? std::string(tokens[at++]) : problem.in_layout;
    problem.out_layout = three_layouts ? std::string(tokens[at++]) : problem.in_layout;
    for (const std::string& layout : {problem.in_layout, problem.weights_layout, problem.out_layout}) {
        if (layout_dimensions(layout) == 0) return bad_key(key, "'" + layout + "' is no tensor layout");
    }
    if (has_one_layout(problem) == three_layouts) {
        return bad_key(key, three_layouts ? "writes the default layout three times" : "has only one layout");
    }
    if (!parse_types(tokens[at], problem)) {
        return bad_key(key, "'" + std::string(tokens[at]) + "' is no data type, nor three different ones");
    }
    if (!parse_direction(tokens[at + 1], problem.direction)) return bad_key(key, "the direction is none of F, B, W");
    if (const char* wrong = parse_options(key.substr(option_begin), problem)) return bad_key(key, wrong);
    return problem;
}

Result<ConvProblem> parse_perf_key(std::string_view key) {
    std::array<std::string_view, kPerfTokens + 1> tokens;
    const std::size_t count = split(key, 'x', tokens);
    if (count != kPerfTokens) {
        return bad_key(key, "has " + std::to_string(count) + " parts between 'x', not 24");
    }
    ConvProblem problem;
    problem.out = {};
    std::int64_t dims = 0;
    const std::array<std::int64_t*, 21> numbers = {&dims,
                                                   &problem.in_channels,
                                                   &problem.in.h,
                                                   &problem.in.w,
                                                   &problem.in.d,
                                                   &problem.filter.h,
                                                   &problem.filter.w,
                                                   &problem.filter.d,
                                                   &problem.out_channels,
                                                   &problem.batch,
                                                   &problem.pad.h,
                                                   &problem.pad.w,
                                                   &problem.pad.d,
                                                   &problem.stride.h,
                                                   &problem.stride.w,
                                                   &problem.stride.d,
                                                   &problem.dilation.h,
                                                   &problem.dilation.w,
                                                   &problem.dilation.d,
                                                   &problem.bias,
                                                   &problem.group_count};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (!parse_signed(tokens[i], *numbers[i])) {
            return bad_key(key, "part " + std::to_string(i + 1) + " is not a plain number");
        }
    }
    if (dims != 2 && dims != 3) return bad_key(key, "has neither 2 nor 3 spatial dimensions");
    problem.spatial_dims = static_cast<int>(dims);
    problem.in_layout = tokens[21];
    if (layout_dimensions(problem.in_layout) == 0) return bad_key(key, "bad layout");
    if (!parse_types(tokens[22], problem)) return bad_key(key, "bad data type");
    if (!parse_direction(tokens[23], problem.direction)) return bad_key(key, "the direction is none of F, B, W");
    return problem;
}

void to_find_key(const ConvProblem& problem, std::string& key) {
    const int dims = problem.spatial_dims;
    key.clear();
    append(key, problem.in_channels);
    key += '-';
    append_extent(key, '-', dims, problem.in);
    key += '-';
    append_extent(key, 'x', dims, problem.filter);
    key += '-';
    append(key, problem.out_channels);
    key += '-';
    append_extent(key, '-', dims, problem.out);
    key += '-';
    append(key, problem.batch);
    for (const Extent* extent : {&problem.pad, &problem.stride, &problem.dilation}) {
        key += '-';
        append_extent(key, 'x', dims, *extent);
    }
    key += '-';
    append(key, problem.bias);
    key += '-';
    key += problem.in_layout;
    if (!has_one_layout(problem)) {
        key += '-';
        key += problem.weights_layout;
        key += '-';
        key += problem.out_layout;
    }
    key += '-';
    append_types(key, problem);
    key += '-';
    key += problem.direction;
    if (problem.group_count != 1) {
        key += "_g";
        append(key, problem.group_count);
    }
    if (problem.in_cast) (key += "_ci") += to_string(*problem.in_cast);
    if (problem.weights_cast) (key += "_cw") += to_string(*problem.weights_cast);
    if (problem.out_cast) (key += "_co") += to_string(*problem.out_cast);
}

void to_perf_key(const ConvProblem& problem, std::string& key) {
    key.clear();
    for (const std::int64_t number : {std::int64_t{problem.spatial_dims},
                                      problem.in_channels,
                                      problem.in.h,
                                      problem.in.w,
                                      problem.in.d,
                                      problem.filter.h,
                                      problem.filter.w,
                                      problem.filter.d,
                                      problem.out_channels,
                                      problem.batch,
                                      problem.pad.h,
                                      problem.pad.w,
                                      problem.pad.d,
                                      problem.stride.h,
                                      problem.stride.w,
                                      problem.stride.d,
                                      problem.dilation.h,
                                      problem.dilation.w,
                                      problem.dilation.d,
                                      problem.bias,
                                      problem.group_count}) {
        append(key, number);
        key += 'x';
    }
    key += problem.in_layout;
    key += 'x';
    append_types(key, problem);
    key += 'x';
    key += problem.direction;
}

std::string to_find_key(const ConvProblem& problem) {
    std::string key;
    to_find_key(problem, key);
    return key;
}

std::string to_perf_key(const ConvProblem& problem) {
    std::string key;
    to_perf_key(problem, key);
    return key;
}

}  // namespace tunefarm::miopen
