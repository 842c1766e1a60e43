// SPDX-License-Identifier: MIT
// Batch normalisation and pooling of MIOpenDriver (driver/bn_driver.hpp, driver/pool_driver.hpp).
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "storage/miopen/driver_flags.h"
#include "storage/miopen/driver_problems.h"

namespace tunefarm::miopen {

namespace {

constexpr std::array<std::string_view, 5> kBatchNorms = {"bnorm", "bnormfp16", "bnormbfp16", "bnormfp16fp32",
                                                         "bnormbfp16fp32"};
constexpr std::array<FlagRule, 19> kBatchNormFlags = {{{'F', "forw", "0"},
                                                       {'b', "back", "0"},
                                                       {'n', "batchsize", "32"},
                                                       {'c', "in_channels", "3"},
                                                       {'H', "in_h", "32"},
                                                       {'W', "in_w", "32"},
                                                       {'D', "in_d", "0"},
                                                       {'L', "layout", ""},
                                                       {'A', "alpha", "1.0"},
                                                       {'B', "beta", "0."},
                                                       {'i', "iter", "1"},
                                                       {'V', "verify", "1"},
                                                       {'t', "time", "0"},
                                                       {'P', "printconv", "1"},
                                                       {'m', "mode", "0"},
                                                       {'s', "save", "0"},
                                                       {'r', "run", "0"},
                                                       {'w', "wall", "0"},
                                                       {'C', "verification_cache", ""}}};

// Today's driver takes tensor descriptors; the one before took sizes, with some of the same letters.
constexpr std::array<FlagRule, 24> kPoolingFlags = {{{'W', "input", "100x3x32x32,NCHW"},
                                                     {'D', "dinput", ""},
                                                     {'O', "output", ""},
                                                     {'H', "doutput", ""},
                                                     {'F', "forw", "0"},
                                                     {'Z', "win_d", "3"},
                                                     {'y', "win_h", "3"},
                                                     {'x', "win_w", "3"},
                                                     {'s', "pool_stride_d", "1"},
                                                     {'v', "pool_stride_h", "1"},
                                                     {'u', "pool_stride_w", "1"},
                                                     {'o', "pad_d", "0"},
                                                     {'p', "pad_h", "0"},
                                                     {'q', "pad_w", "0"},
                                                     {'r', "pad_val", "0"},
                                                     {'M', "index_position", "0"},
                                                     {'i', "iter", "10"},
                                                     {'V', "verify", "1"},
                                                     {'t', "time", "0"},
                                                     {'w', "wall", "0"},
                                                     {'P', "print", "1"},
                                                     {'m', "mode", "max"},
                                                     {'z', "pad_mode", "default"},
                                                     {'I', "index_type", "miopenIndexUint8"}}};
constexpr std::array<FlagRule, 5> kOldPoolingSizes = {{{'n', "batchsize", "100"},
                                                       {'c', "in_channels", "3"},
                                                       {'!', "in_d", "0"},
                                                       {'H', "in_h", "32"},
                                                       {'W', "in_w", "32"}}};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

/// "100x3x32x32" of four or five positive numbers.
Result<std::vector<std::int64_t>> parse_lengths(std::string_view text) {
    const Error bad{ErrorKind::kInput,
                    "'" + std::string(text.substr(0, 60)) + "' is no tensor: four or five sizes with x"};
    std::vector<std::int64_t> lengths;
    while (true) {
        const std::size_t end = text.find('x');
        const std::string_view part = text.substr(0, end);
        std::int64_t value = 0;
        const auto [last, code] = std::from_chars(part.data(), part.data() + part.size(), value);
        if (code != std::errc() || last != part.data() + part.size() || value < 1) return bad;
        lengths.push_back(value);
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    if (lengths.size() != 4 && lengths.size() != 5) return bad;
    return lengths;
}

std::string joined(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t number : numbers) text += (text.empty() ? "" : "x") + std::to_string(number);
    return text;
}

/// The layout or strides behind a tensor's sizes; packed strides of the usual layout are that layout.
Result<std::string> parse_arrangement(std::string_view text, const std::vector<std::int64_t>& lengths) {
    const std::string usual = lengths.size() == 5 ? "NCDHW" : "NCHW";
    if (text.empty()) return usual;
    if (text[0] < '0' || text[0] > '9') {
        if (layout_dimensions(text) == static_cast<int>(lengths.size())) return std::string(text);
        return Error{ErrorKind::kInput, "'" + std::string(text.substr(0, 60)) + "' is no layout of the tensor"};
    }
    TUNEFARM_ASSIGN(const std::vector<std::int64_t> strides, parse_lengths(text));
    if (strides.size() != lengths.size())
        return Error{ErrorKind::kInput, "the tensor's strides are not as many as its sizes"};
    std::vector<std::int64_t> packed(lengths.size(), 1);
    for (std::size_t i = lengths.size() - 1; i > 0; --i) {
        if (packed[i] > (1LL << 40) / lengths[i]) return Error{ErrorKind::kInput, "the tensor is too large"};
        packed[i - 1] = packed[i] * lengths[i];
    }
    return strides == packed ? usual : joined(strides);
}

Status read_extent(const DriverFlags& flags, bool deep, const char* name, std::int64_t least, Extent& extent) {
    const std::string prefix = name;
    if (deep) {
        TUNEFARM_ASSIGN(extent.d, flags.number(prefix + "_d", least));
    }
    TUNEFARM_ASSIGN(extent.h, flags.number(prefix + "_h", least));
    TUNEFARM_ASSIGN(extent.w, flags.number(prefix + "_w", least));
    return {};
}

/// The sizes in either generation of flags.
Result<DriverFlags> pooling_flags(std::span<const std::string_view> words, PoolingProblem& problem) {
    bool old = false;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
        const bool plain_number = words[i + 1].find('x') == std::string_view::npos;
        old = old ||
              is_one_of(words[i], {"-n", "-c", "-!", "--batchsize", "--in_channels", "--in_d", "--in_h", "--in_w"}) ||
              (is_one_of(words[i], {"-H", "-W"}) && plain_number);
    }
    static const std::vector<FlagRule> old_rules = [] {
        std::vector<FlagRule> rules(kOldPoolingSizes.begin(), kOldPoolingSizes.end());
        std::ranges::copy_if(kPoolingFlags, std::back_inserter(rules), [](const FlagRule& rule) {
            return !is_one_of(rule.long_name, {"input", "dinput", "output", "doutput"});
        });
        return rules;
    }();
    TUNEFARM_ASSIGN(DriverFlags flags, DriverFlags::parse(words, old ? std::span<const FlagRule>(old_rules)
                                                                     : std::span<const FlagRule>(kPoolingFlags)));
    if (!old) {
        const std::string_view tensor = flags.text("input");
        const std::size_t comma = tensor.find(',');
        TUNEFARM_ASSIGN(problem.lengths, parse_lengths(tensor.substr(0, comma)));
        TUNEFARM_ASSIGN(
            problem.layout,
            parse_arrangement(comma == std::string_view::npos ? "" : tensor.substr(comma + 1), problem.lengths));
        return flags;
    }
    for (const char* flag : {"batchsize", "in_channels", "in_d", "in_h", "in_w"}) {
        const bool depth = std::string_view(flag) == "in_d";
        TUNEFARM_ASSIGN(const std::int64_t length, flags.number(flag, depth ? 0 : 1));
        if (length > 0) problem.lengths.push_back(length);
    }
    problem.layout = problem.lengths.size() == 5 ? "NCDHW" : "NCHW";
    return flags;
}

}  // namespace

bool is_batch_norm(std::string_view base) {
    return std::ranges::find(kBatchNorms, base) != kBatchNorms.end();
}

Result<std::vector<Problem>> parse_batch_norm(std::string_view base, std::span<const std::string_view> words) {
    TUNEFARM_ASSIGN(const DriverFlags flags, DriverFlags::parse(words, kBatchNormFlags));
    BatchNormProblem problem;
    problem.base = base;
    TUNEFARM_ASSIGN(problem.batch, flags.number("batchsize", 1));
    TUNEFARM_ASSIGN(problem.channels, flags.number("in_channels", 1));
    TUNEFARM_ASSIGN(problem.size.d, flags.number("in_d", 0));
    TUNEFARM_ASSIGN(problem.size.h, flags.number("in_h", 1));
    TUNEFARM_ASSIGN(problem.size.w, flags.number("in_w", 1));
    TUNEFARM_ASSIGN(const std::int64_t mode, flags.number("mode", 0, 1));
    problem.mode = static_cast<int>(mode);
    TUNEFARM_ASSIGN(const std::int64_t save, flags.number("save", 0, 1));
    problem.save = save == 1;
    TUNEFARM_ASSIGN(const std::int64_t run, flags.number("run", 0, 1));
    problem.run = run == 1;
    TUNEFARM_ASSIGN(const std::int64_t forward, flags.number("forw", 0, 2));
    TUNEFARM_ASSIGN(const std::int64_t backward, flags.number("back", 0, 1));
    // With both the driver runs forward only, with neither it trains.
    problem.direction = forward == 2 ? 'I' : (forward == 0 && backward == 1 ? 'B' : 'T');
    problem.layout = flags.text("layout");
    for (char& c : problem.layout) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    if (problem.layout.empty()) problem.layout = problem.size.d > 0 ? "NCDHW" : "NCHW";
    if (!is_one_of(problem.layout, {"NCHW", "NHWC", "NCDHW", "NDHWC"})) {
        return Error{ErrorKind::kInput, "--layout is none of NCHW, NHWC, NCDHW, NDHWC"};
    }
    return std::vector<Problem>{problem};
}

std::string batch_norm_command(const BatchNormProblem& problem) {
    std::string command = problem.base;
    add_flag(command, "-n", problem.batch);
    add_flag(command, "-c", problem.channels);
    if (problem.size.d > 0) add_flag(command, "-D", problem.size.d);
    add_flag(command, "-H", problem.size.h);
    add_flag(command, "-W", problem.size.w);
    add_flag(command, "-m", problem.mode);
    add_flag(command, "--forw", problem.direction == 'T' ? 1 : (problem.direction == 'I' ? 2 : 0));
    add_flag(command, "-b", problem.direction == 'B' ? 1 : 0);
    if (problem.save) add_flag(command, "-s", 1);
    if (problem.run) add_flag(command, "-r", 1);
    return command + " --layout " + problem.layout;
}

bool is_pooling(std::string_view base) {
    return base == "pool" || base == "poolfp16";
}

Result<std::vector<Problem>> parse_pooling(std::string_view base, std::span<const std::string_view> words) {
    PoolingProblem problem;
    problem.base = base;
    TUNEFARM_ASSIGN(const DriverFlags flags, pooling_flags(words, problem));
    const bool deep = problem.lengths.size() == 5;
    TUNEFARM_TRY(read_extent(flags, deep, "win", 1, problem.window));
    TUNEFARM_TRY(read_extent(flags, deep, "pool_stride", 1, problem.stride));
    TUNEFARM_TRY(read_extent(flags, deep, "pad", 0, problem.pad));
    problem.mode = flags.text("mode");
    problem.pad_mode = flags.text("pad_mode");
    problem.index_type = flags.text("index_type");
    if (!is_one_of(problem.mode, {"max", "avg", "avg_in"}))
        return Error{ErrorKind::kInput, "--mode is none of max, avg, avg_in"};
    if (!is_one_of(problem.pad_mode, {"default", "same", "valid"})) {
        return Error{ErrorKind::kInput, "--pad_mode is none of default, same, valid"};
    }
    if (!is_one_of(problem.index_type,
                   {"miopenIndexUint8", "miopenIndexUint16", "miopenIndexUint32", "miopenIndexUint64"})) {
        return Error{ErrorKind::kInput, "--index_type is none of miopenIndexUint8, 16, 32, 64"};
    }
    TUNEFARM_ASSIGN(const std::int64_t position, flags.number("index_position", 0, 1));
    problem.index_position = deep ? 1 : static_cast<int>(position);
    TUNEFARM_ASSIGN(const std::int64_t forward_only, flags.number("forw", 0, 1));
    std::vector<Problem> problems = {problem};
    if (forward_only == 0) {
        problem.direction = 'B';
        problems.emplace_back(problem);
    }
    return problems;
}

std::string pooling_command(const PoolingProblem& problem) {
    const bool deep = problem.lengths.size() == 5;
    std::string command = problem.base + " --input " + joined(problem.lengths) + "," + problem.layout;
    if (deep) add_flag(command, "-Z", problem.window.d);
    add_flag(command, "-y", problem.window.h);
    add_flag(command, "-x", problem.window.w);
    if (deep) add_flag(command, "-o", problem.pad.d);
    add_flag(command, "-p", problem.pad.h);
    add_flag(command, "-q", problem.pad.w);
    if (deep) add_flag(command, "-s", problem.stride.d);
    add_flag(command, "-v", problem.stride.h);
    add_flag(command, "-u", problem.stride.w);
    command += " -m " + problem.mode;
    if (problem.pad_mode != "default") command += " -z " + problem.pad_mode;
    if (problem.index_type != "miopenIndexUint8") command += " -I " + problem.index_type;
    if (!deep) add_flag(command, "-M", problem.index_position);
    // 0 runs both directions: there is no flag for backward alone.
    add_flag(command, "-F", problem.direction == 'F' ? 1 : 0);
    return command;
}

}  // namespace tunefarm::miopen
