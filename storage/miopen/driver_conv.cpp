// SPDX-License-Identifier: MIT
// Convolutions of MIOpenDriver (driver/conv_driver.hpp), as the library makes problems of them
// (src/convolution_api.cpp, conv/problem_description.cpp).
#include <algorithm>
#include <array>
#include <utility>

#include "storage/miopen/driver_flags.h"
#include "storage/miopen/driver_problems.h"

namespace tunefarm::miopen {

namespace {

constexpr std::array<FlagRule, 49> kFlags = {{
    {'I', "in_layout", ""},
    {'O', "out_layout", ""},
    {'f', "fil_layout", ""},
    {'_', "spatial_dim", "2"},
    {'F', "forw", "0"},
    {'n', "batchsize", "100"},
    {'c', "in_channels", "3"},
    {'!', "in_d", "32"},
    {'H', "in_h", "32"},
    {'W', "in_w", "32"},
    {'k', "out_channels", "32"},
    {'@', "fil_d", "3"},
    {'y', "fil_h", "3"},
    {'x', "fil_w", "3"},
    {'#', "conv_stride_d", "1"},
    {'u', "conv_stride_h", "1"},
    {'v', "conv_stride_w", "1"},
    {'$', "pad_d", "0"},
    {'p', "pad_h", "0"},
    {'q', "pad_w", "0"},
    {'r', "pad_val", "0"},
    {'%', "trans_output_pad_d", "0"},
    {'Y', "trans_output_pad_h", "0"},
    {'X', "trans_output_pad_w", "0"},
    {'i', "iter", "10"},
    {'V', "verify", "1"},
    {'C', "verification_cache", ""},
    {'t', "time", "0"},
    {'w', "wall", "0"},
    {'s', "search", "0"},
    {'P', "printconv", "1"},
    {'o', "dump_output", "0"},
    {'d', "in_data", ""},
    {'e', "weights", ""},
    {'b', "bias", "0"},
    {'m', "mode", "conv"},
    {'z', "pad_mode", "default"},
    {'Z', "tensor_vect", "0"},
    {'L', "vector_length", "1"},
    {'^', "dilation_d", "1"},
    {'l', "dilation_h", "1"},
    {'j', "dilation_w", "1"},
    {'a', "in_bias", ""},
    {'g', "group_count", "1"},
    {'D', "dout_data", ""},
    {'S', "solution", "-1"},
    {'G', "gpualloc", "0"},
    {'U', "in_cast_type", "-1"},
    {'T', "out_cast_type", "-1"},
}};
constexpr FlagRule kWeightsCast = {'R', "wei_cast_type", "-1"};

struct Base {
    std::string_view name;
    ConvTypes types;
};
// The driver gives the output of an int8 convolution 32 bits.
constexpr std::array<Base, 6> kBases = {{
    {"conv", {DataType::kFp32, DataType::kFp32, DataType::kFp32}},
    {"convfp16", {DataType::kFp16, DataType::kFp16, DataType::kFp16}},
    {"convbfp16", {DataType::kBf16, DataType::kBf16, DataType::kBf16}},
    {"convint8", {DataType::kInt8, DataType::kInt8, DataType::kInt32}},
    {"convfp8", {DataType::kFp8, DataType::kFp8, DataType::kFp8}},
    {"convbfp8", {DataType::kBf8, DataType::kBf8, DataType::kBf8}},
}};

constexpr std::array<std::pair<std::string_view, DataType>, 5> kCasts = {{{"fp32", DataType::kFp32},
                                                                          {"fp16", DataType::kFp16},
                                                                          {"bf16", DataType::kBf16},
                                                                          {"fp8", DataType::kFp8},
                                                                          {"bf8", DataType::kBf8}}};

/// A tensor of the forward convolution: x, w or y.
struct Tensor {
    std::string layout;
    std::array<std::int64_t, 5> lengths{};  ///< N, C, D, H, W; D is 1 in 2D
    std::optional<DataType> cast;
};

/// Whether a packed tensor of its layout could as well be one of `layout`: axes of length 1 have no place of their own.
bool is_possible(const Tensor& tensor, std::string_view layout) {
    if (layout.size() != tensor.layout.size()) return false;
    constexpr std::string_view axes = "NCDHW";
    std::array<std::int64_t, 5> strides{};
    std::int64_t stride = 1;
    for (std::size_t i = tensor.layout.size(); i-- > 0;) {
        const std::size_t axis = axes.find(tensor.layout[i]);
        strides[axis] = stride;
        stride *= tensor.lengths[axis];
    }
    for (std::size_t i = 0; i + 1 < layout.size(); ++i) {
        if (strides[axes.find(layout[i])] < strides[axes.find(layout[i + 1])]) return false;
    }
    return true;
}

/// The library prefers one layout for all three tensors where their strides allow it (HeuristicUpdateLayouts).
void unify_layouts(Tensor& x, Tensor& w, Tensor& y) {
    for (const char* layout : {"NCHW", "NHWC", "CHWN", "NCDHW"}) {
        if (is_possible(x, layout) && is_possible(w, layout) && is_possible(y, layout)) {
            x.layout = w.layout = y.layout = layout;
            return;
        }
    }
}

Result<std::optional<DataType>> cast_of(const DriverFlags& flags, std::string_view flag) {
    const std::string_view name = flags.text(flag);
    if (name == "-1") return std::optional<DataType>();
    const auto cast = std::ranges::find(kCasts, name, &std::pair<std::string_view, DataType>::first);
    if (cast == kCasts.end()) {
        return Error{ErrorKind::kInput, "--" + std::string(flag) + " is none of fp32, fp16, bf16, fp8, bf8"};
    }
    return std::optional<DataType>(cast->second);
}

Result<std::string> layout_of(const DriverFlags& flags, std::string_view flag, int dims) {
    std::string layout(flags.text(flag));
    for (char& c : layout) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    if (layout.empty()) layout = dims == 3 ? "NCDHW" : "NCHW";
    const bool known =
        dims == 3 ? layout == "NCDHW" || layout == "NDHWC" : layout == "NCHW" || layout == "NHWC" || layout == "CHWN";
    if (!known) {
        return Error{ErrorKind::kInput, "--" + std::string(flag) + " " + layout.substr(0, 20) + " is no layout of " +
                                            std::to_string(dims) + " spatial dimensions"};
    }
    return layout;
}

/// Limits of what is read: products of these stay far from an overflow. No tensor of a GPU comes near.
constexpr std::int64_t kLargestLength = 1LL << 30;
constexpr std::int64_t kLargestStep = 1LL << 24;
constexpr std::int64_t kMostElements = 1LL << 48;

struct Axis {
    std::int64_t in = 1;
    std::int64_t filter = 1;
    std::int64_t pad = 0;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    std::int64_t trans_pad = 0;

    std::int64_t out(bool transposed) const {
        const std::int64_t reach = dilation * (filter - 1);
        const std::int64_t size =
            transposed ? stride * (in - 1) + 1 + reach - 2 * pad + trans_pad : (in - 1 - reach + 2 * pad) / stride + 1;
        return std::max<std::int64_t>(1, size);
    }
};

Result<Axis> axis_of(const DriverFlags& flags, const std::string& name) {
    Axis axis;
    TUNEFARM_ASSIGN(axis.in, flags.number("in_" + name, 1, kLargestLength));
    TUNEFARM_ASSIGN(axis.filter, flags.number("fil_" + name, 1, kLargestStep));
    TUNEFARM_ASSIGN(axis.pad, flags.number("pad_" + name, 0, kLargestStep));
    TUNEFARM_ASSIGN(axis.stride, flags.number("conv_stride_" + name, 1, kLargestStep));
    TUNEFARM_ASSIGN(axis.dilation, flags.number("dilation_" + name, 1, kLargestStep));
    TUNEFARM_ASSIGN(axis.trans_pad, flags.number("trans_output_pad_" + name, 0, kLargestStep));
    return axis;
}

/// `--pad_mode` same and valid replace the pads, unless there are dilations to be seen.
Status apply_pad_mode(const DriverFlags& flags, std::array<Axis, 3>& axes) {
    const std::string_view mode = flags.text("pad_mode");
    if (mode == "default") return {};
    if (mode != "same" && mode != "valid") {
        return Error{ErrorKind::kInput, "--pad_mode is none of default, same, valid"};
    }
    const bool plain = std::ranges::all_of(axes, [](const Axis& axis) { return axis.dilation == 1; }) ||
                       std::ranges::all_of(axes, [](const Axis& axis) { return axis.filter == 1; });
    if (!plain) return {};
    for (Axis& axis : axes) {
        const std::int64_t rest = axis.in % axis.stride == 0 ? axis.stride : axis.in % axis.stride;
        axis.pad = mode == "same" ? std::max<std::int64_t>(axis.filter - rest, 0) / 2 : 0;
    }
    return {};
}

Status check_size(const Tensor& tensor) {
    std::int64_t elements = 1;
    for (const std::int64_t length : tensor.lengths) {
        if (length > kMostElements / elements)
            return Error{ErrorKind::kInput, "a tensor would have more than 2^48 elements"};
        elements *= length;
    }
    return {};
}

ConvProblem make_problem(const Tensor& in, const Tensor& w, const Tensor& out, char direction) {
    ConvProblem problem;
    problem.in_channels = in.lengths[1];
    problem.out_channels = out.lengths[1];
    problem.batch = in.lengths[0];
    problem.in = {in.lengths[2], in.lengths[3], in.lengths[4]};
    problem.out = {out.lengths[2], out.lengths[3], out.lengths[4]};
    problem.in_layout = in.layout;
    problem.weights_layout = w.layout;
    problem.out_layout = out.layout;
    problem.in_cast = in.cast;
    problem.weights_cast = w.cast;
    problem.out_cast = out.cast;
    problem.direction = direction;
    return problem;
}

void add_cast(std::string& command, const char* flag, const std::optional<DataType>& cast) {
    if (!cast) return;
    const auto name = std::ranges::find(kCasts, *cast, &std::pair<std::string_view, DataType>::second);
    command += std::string(" --") + flag + " " + std::string(name->first);
}

/// One axis of a problem's forward convolution, if a convolution can have it.
std::optional<Axis> axis_of(const ConvProblem& problem, const Extent& in, std::int64_t Extent::* side) {
    const Axis axis{in.*side, problem.filter.*side, problem.pad.*side, problem.stride.*side, problem.dilation.*side, 0};
    const bool possible = axis.in >= 1 && axis.in <= kLargestLength && axis.filter >= 1 &&
                          axis.filter <= kLargestStep && axis.pad >= 0 && axis.pad <= kLargestStep &&
                          axis.stride >= 1 && axis.stride <= kLargestStep && axis.dilation >= 1 &&
                          axis.dilation <= kLargestStep;
    if (!possible) return std::nullopt;
    return axis;
}

/// Whether the driver, which computes the output's size, would come to this problem's. (A caller of the library can
/// have had another padding mode.)
bool is_reachable(const ConvProblem& problem) {
    const bool forward = problem.direction == 'F';
    const Extent& x = forward ? problem.in : problem.out;
    const Extent& y = forward ? problem.out : problem.in;
    for (std::int64_t Extent::* const side : {&Extent::d, &Extent::h, &Extent::w}) {
        if (side == &Extent::d && problem.spatial_dims == 2) continue;
        const std::optional<Axis> axis = axis_of(problem, x, side);
        if (!axis || axis->out(false) != y.*side) return false;
    }
    return true;
}

bool can_cast(const std::optional<DataType>& cast) {
    return !cast || std::ranges::find(kCasts, *cast, &std::pair<std::string_view, DataType>::second) != kCasts.end();
}

}  // namespace

std::optional<ConvTypes> conv_types(std::string_view base) {
    const auto found = std::ranges::find(kBases, base, &Base::name);
    if (found == kBases.end()) return std::nullopt;
    return found->types;
}

Result<std::vector<Problem>> parse_conv(const ConvTypes& types, std::span<const std::string_view> words) {
    static const std::vector<FlagRule> rules = [] {
        std::vector<FlagRule> all(kFlags.begin(), kFlags.end());
        all.push_back(kWeightsCast);
        return all;
    }();
    TUNEFARM_ASSIGN(const DriverFlags flags, DriverFlags::parse(words, rules));
    TUNEFARM_ASSIGN(const std::int64_t dims, flags.number("spatial_dim", 2, 3));
    const bool deep = dims == 3;
    if (flags.text("tensor_vect") != "0") {
        return Error{ErrorKind::kUnsupported, "vectorised tensors (--tensor_vect) are not supported"};
    }
    const std::string_view mode = flags.text("mode");
    if (mode != "conv" && mode != "trans") return Error{ErrorKind::kInput, "--mode is none of conv, trans"};
    const bool transposed = mode == "trans";

    std::array<Axis, 3> axes;
    if (deep) {
        TUNEFARM_ASSIGN(axes[0], axis_of(flags, "d"));
    }
    TUNEFARM_ASSIGN(axes[1], axis_of(flags, "h"));
    TUNEFARM_ASSIGN(axes[2], axis_of(flags, "w"));
    if (!transposed) TUNEFARM_TRY(apply_pad_mode(flags, axes));
    TUNEFARM_ASSIGN(const std::int64_t batch, flags.number("batchsize", 1));
    TUNEFARM_ASSIGN(const std::int64_t in_channels, flags.number("in_channels", 1));
    TUNEFARM_ASSIGN(const std::int64_t out_channels, flags.number("out_channels", 1));
    TUNEFARM_ASSIGN(std::int64_t groups, flags.number("group_count", 0));
    groups = std::max<std::int64_t>(groups, 1);
    if (in_channels % groups != 0 || out_channels % groups != 0) {
        return Error{ErrorKind::kInput, "--group_count " + std::to_string(groups) + " does not divide the channels"};
    }

    Tensor x{"", {batch, in_channels, axes[0].in, axes[1].in, axes[2].in}, {}};
    Tensor w{"", {out_channels, in_channels / groups, axes[0].filter, axes[1].filter, axes[2].filter}, {}};
    if (transposed) w.lengths = {in_channels, out_channels / groups, axes[0].filter, axes[1].filter, axes[2].filter};
    Tensor y{
        "",
        {batch, out_channels, deep ? axes[0].out(transposed) : 1, axes[1].out(transposed), axes[2].out(transposed)},
        {}};
    TUNEFARM_ASSIGN(x.layout, layout_of(flags, "in_layout", static_cast<int>(dims)));
    TUNEFARM_ASSIGN(w.layout, layout_of(flags, "fil_layout", static_cast<int>(dims)));
    TUNEFARM_ASSIGN(y.layout, layout_of(flags, "out_layout", static_cast<int>(dims)));
    TUNEFARM_ASSIGN(x.cast, cast_of(flags, "in_cast_type"));
    TUNEFARM_ASSIGN(w.cast, cast_of(flags, "wei_cast_type"));
    TUNEFARM_ASSIGN(y.cast, cast_of(flags, "out_cast_type"));
    for (const Tensor* tensor : {&x, &w, &y}) TUNEFARM_TRY(check_size(*tensor));
    unify_layouts(x, w, y);

    TUNEFARM_ASSIGN(std::int64_t directions, flags.number("forw", 0, 7));
    if (directions == 0) directions = 7;
    if (types.in == DataType::kInt8) {
        directions &= 1;
        if (directions == 0) return Error{ErrorKind::kInput, "int8 convolutions run forward only"};
    }
    std::vector<Problem> problems;
    // Transposed, x and y change places and forward is the data gradient of the plain convolution.
    const auto add = [&](std::int64_t bit, bool from_x, char direction) {
        if ((directions & bit) == 0) return;
        ConvProblem problem = from_x ? make_problem(x, w, y, direction) : make_problem(y, w, x, direction);
        problem.spatial_dims = static_cast<int>(dims);
        problem.filter = {axes[0].filter, axes[1].filter, axes[2].filter};
        problem.pad = {deep ? axes[0].pad : 0, axes[1].pad, axes[2].pad};
        problem.stride = {deep ? axes[0].stride : 0, axes[1].stride, axes[2].stride};
        problem.dilation = {deep ? axes[0].dilation : 0, axes[1].dilation, axes[2].dilation};
        problem.group_count = groups;
        problem.in_type = from_x ? types.in : types.out;
        problem.weights_type = types.weights;
        problem.out_type = from_x ? types.out : types.in;
        problems.emplace_back(std::move(problem));
    };
    constexpr std::int64_t forward = 1;
    constexpr std::int64_t backward = 2;
    constexpr std::int64_t weights = 4;
    add(forward, true, transposed ? 'B' : 'F');
    add(backward, false, transposed ? 'F' : 'B');
    add(weights, transposed, 'W');
    return problems;
}

std::optional<std::string> conv_command(const ConvProblem& problem) {
    const bool forward = problem.direction == 'F';
    const ConvTypes types = forward ? ConvTypes{problem.in_type, problem.weights_type, problem.out_type}
                                    : ConvTypes{problem.out_type, problem.weights_type, problem.in_type};
    const auto base = std::ranges::find_if(kBases, [&](const Base& candidate) {
        return candidate.types.in == types.in && candidate.types.weights == types.weights &&
               candidate.types.out == types.out;
    });
    if (base == kBases.end() || (types.in == DataType::kInt8 && !forward)) return std::nullopt;
    if (!can_cast(problem.in_cast) || !can_cast(problem.weights_cast) || !can_cast(problem.out_cast))
        return std::nullopt;
    if (!is_reachable(problem)) return std::nullopt;
    const bool deep = problem.spatial_dims == 3;
    const Extent& x = forward ? problem.in : problem.out;
    std::string command(base->name);
    add_flag(command, "-n", problem.batch);
    add_flag(command, "-c", forward ? problem.in_channels : problem.out_channels);
    if (deep) add_flag(command, "--in_d", x.d);
    add_flag(command, "-H", x.h);
    add_flag(command, "-W", x.w);
    add_flag(command, "-k", forward ? problem.out_channels : problem.in_channels);
    if (deep) add_flag(command, "--fil_d", problem.filter.d);
    add_flag(command, "-y", problem.filter.h);
    add_flag(command, "-x", problem.filter.w);
    if (deep) add_flag(command, "--pad_d", problem.pad.d);
    add_flag(command, "-p", problem.pad.h);
    add_flag(command, "-q", problem.pad.w);
    if (deep) add_flag(command, "--conv_stride_d", problem.stride.d);
    add_flag(command, "-u", problem.stride.h);
    add_flag(command, "-v", problem.stride.w);
    if (deep) add_flag(command, "--dilation_d", problem.dilation.d);
    add_flag(command, "-l", problem.dilation.h);
    add_flag(command, "-j", problem.dilation.w);
    if (deep) add_flag(command, "--spatial_dim", 3);
    const char* usual = deep ? "NCDHW" : "NCHW";
    const auto add_layout = [&](const char* flag, const std::string& layout) {
        if (layout != usual) command += std::string(" --") + flag + " " + layout;
    };
    add_layout("in_layout", forward ? problem.in_layout : problem.out_layout);
    add_layout("fil_layout", problem.weights_layout);
    add_layout("out_layout", forward ? problem.out_layout : problem.in_layout);
    add_cast(command, "in_cast_type", forward ? problem.in_cast : problem.out_cast);
    add_cast(command, "wei_cast_type", problem.weights_cast);
    add_cast(command, "out_cast_type", forward ? problem.out_cast : problem.in_cast);
    command += " -m conv";
    add_flag(command, "-g", problem.group_count);
    add_flag(command, "-F", forward ? 1 : (problem.direction == 'B' ? 2 : 4));
    return command;
}

std::optional<ConvProblem> completed(const ConvProblem& problem) {
    ConvProblem whole = problem;
    whole.weights_layout = whole.out_layout = problem.in_layout;
    whole.out.d = 1;
    for (std::int64_t Extent::* const side : {&Extent::d, &Extent::h, &Extent::w}) {
        if (side == &Extent::d && problem.spatial_dims == 2) continue;
        const std::optional<Axis> axis = axis_of(problem, problem.in, side);
        if (!axis) return std::nullopt;
        // The smallest input with this output is what a transposed convolution would make of it.
        whole.out.*side = axis->out(problem.direction != 'F');
    }
    return whole;
}

}  // namespace tunefarm::miopen
