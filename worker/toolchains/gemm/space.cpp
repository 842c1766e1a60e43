// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/space.h"

#include <algorithm>

namespace tunefarm::gemm {
namespace {

constexpr std::array<ParameterInfo, kParameters> kInfo{{
    {"MacroTile0", "MT", 1, 4096, false, true, true, "rows of C per cache block (CPU) or work group (GPU)"},
    {"MacroTile1", "x", 1, 4096, false, true, true, "columns of C per cache block or work group"},
    {"DepthU", "x", 1, 2048, false, true, true, "steps of the summation per cache block or LDS tile"},
    {"VectorWidth", "_VW", 1, 16, true, true, true, "elements per vector operation"},
    {"ThreadTile0", "_TT", 1, 128, false, true, true, "rows of C kept in registers"},
    {"ThreadTile1", "x", 1, 32, false, true, true, "columns of C kept in registers"},
    {"UnrollK", "_UK", 1, 16, true, true, false, "steps of the summation per iteration of the inner loop"},
    {"PrefetchDistance", "_PD", 0, 64, false, true, false, "steps of the summation that A is prefetched ahead; 0: not"},
    {"PrefetchC", "_PC", 0, 1, false, true, false, "1: prefetch the result tile before the inner loop"},
    {"PackA", "_PA", 0, 1, false, true, false, "1: copy A into panels; 0: read it in place"},
    {"PackB", "_PB", 0, 1, false, true, false, "1: copy B into panels; 0: read it in place"},
    {"LoopOrder", "_LO", 0, 1, false, true, false, "0: panels of B outermost; 1: panels of A outermost"},
    {"PrefetchGlobalRead", "_PGR", 0, 1, false, false, true,
     "1: load the next tile into registers during the arithmetic"},
    {"LdsPadA", "_LPA", 0, 16, true, false, true, "elements of padding per LDS row of A"},
    {"LdsPadB", "_LPB", 0, 16, true, false, true, "elements of padding per LDS row of B"},
}};

bool is_power_of_two(std::int64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

/// The largest multiple of `step` that is at most `limit`, but at least `step`.
int multiple_below(int limit, int step) {
    return std::max(step, limit / step * step);
}

int round_up(int value, int step) {
    return (value + step - 1) / step * step;
}

std::string text(const char* name, int value) {
    return std::string(name) + " " + std::to_string(value);
}

void resolve_cpu(Point& p, const ProblemType& type, const Target& target) {
    const int lanes = target.vector_bytes / size_of(type.type);
    const bool wide = target.registers >= 32;
    const auto fill = [&p](Parameter which, int value) {
        if (p[which] == kAuto) p[which] = value;
    };
    if (p[kVectorWidth] == kAuto) {
        p[kVectorWidth] = lanes;
        if (p[kThreadTile0] != kAuto) {
            while (p[kVectorWidth] > 1 && p[kThreadTile0] % p[kVectorWidth] != 0) p[kVectorWidth] /= 2;
        }
    }
    fill(kThreadTile0, 2 * p[kVectorWidth]);
    fill(kThreadTile1, wide ? 12 : 6);
    // A block of A (MacroTile0 × DepthU) should stay in half of a 1 MiB L2, a sliver of B in L1, a block of B in L3.
    fill(kDepthU, type.type == DataType::kDouble ? 192 : 384);
    fill(kMacroTile0, multiple_below(wide ? 384 : 192, p[kThreadTile0]));
    fill(kMacroTile1, multiple_below(1536, p[kThreadTile1]));
    fill(kUnrollK, 4);
    fill(kPrefetchDistance, 0);
    fill(kPrefetchC, 1);
    fill(kPackA, 1);
    fill(kPackB, 1);
    fill(kLoopOrder, 0);
}

void resolve_gpu(Point& p) {
    const auto fill = [&p](Parameter which, int value) {
        if (p[which] == kAuto) p[which] = value;
    };
    fill(kThreadTile0, 4);
    fill(kThreadTile1, 4);
    if (p[kVectorWidth] == kAuto) {
        p[kVectorWidth] = 4;
        while (p[kVectorWidth] > 1 &&
               (p[kThreadTile0] % p[kVectorWidth] != 0 || p[kThreadTile1] % p[kVectorWidth] != 0)) {
            p[kVectorWidth] /= 2;
        }
    }
    fill(kMacroTile0, 16 * p[kThreadTile0]);
    fill(kMacroTile1, 16 * p[kThreadTile1]);
    fill(kDepthU, 16);
    fill(kPrefetchGlobalRead, 1);
    fill(kLdsPadA, p[kVectorWidth]);
    fill(kLdsPadB, p[kVectorWidth]);
}

std::optional<std::string> divides(const Point& p, Parameter small, Parameter large) {
    if (p[large] % p[small] == 0) return std::nullopt;
    return text(kInfo[small].name, p[small]) + " does not divide " + text(kInfo[large].name, p[large]);
}

std::optional<std::string> invalid_cpu(const Point& p, const ProblemType& type, const Target& target) {
    const int bytes = p[kVectorWidth] * size_of(type.type);
    if (bytes > target.vector_bytes) {
        return text("VectorWidth", p[kVectorWidth]) + " needs vectors of " + std::to_string(bytes) + " bytes; " +
               target.name + " has " + std::to_string(target.vector_bytes);
    }
    const int vectors = p[kThreadTile0] / p[kVectorWidth];
    const int needed = vectors * p[kThreadTile1] + vectors + 1;
    if (needed > target.registers) {
        return "a tile of " + std::to_string(p[kThreadTile0]) + "x" + std::to_string(p[kThreadTile1]) + " at " +
               text("VectorWidth", p[kVectorWidth]) + " needs " + std::to_string(needed) + " vector registers; " +
               target.name + " has " + std::to_string(target.registers);
    }
    if (p[kDepthU] % p[kUnrollK] != 0) return divides(p, kUnrollK, kDepthU);
    if (p[kPackA] == 0 && type.transpose_a) return "PackA 0 reads columns of A as vectors: not with TransposeA";
    if (p[kPackA] == 0 && p[kLoopOrder] == 1 && p[kPackB] == 0) {
        return "LoopOrder 1 equals LoopOrder 0 where nothing is packed";
    }
    constexpr std::int64_t kMaxWorkspace = std::int64_t{256} << 20;
    const std::int64_t workspace = workspace_bytes(p, type, target);
    if (workspace > kMaxWorkspace) {
        return "the packed panels need " + std::to_string(workspace >> 20) + " MiB; the limit is 256 MiB";
    }
    return std::nullopt;
}

std::optional<std::string> invalid_gpu(const Point& p, const ProblemType& type, const Target& target) {
    if (auto reason = divides(p, kVectorWidth, kThreadTile1)) return reason;
    if (auto reason = divides(p, kVectorWidth, kDepthU)) return reason;
    if (p[kVectorWidth] * size_of(type.type) > 16) {
        return text("VectorWidth", p[kVectorWidth]) + " needs loads of more than 16 bytes; " + target.name + " has 16";
    }
    const int threads = (p[kMacroTile0] / p[kThreadTile0]) * (p[kMacroTile1] / p[kThreadTile1]);
    if (threads > 1024) return "the work group has " + std::to_string(threads) + " threads; the limit is 1024";
    if (threads % 64 != 0) {
        return "the work group has " + std::to_string(threads) +
               " threads, which is not a multiple of the wavefront (64)";
    }
    const int tile = p[kThreadTile0] * p[kThreadTile1];
    constexpr int kMaxTile = 256;  // accumulators beyond half of the 512 vector registers of a thread only spill
    if (tile > kMaxTile) {
        return "a tile of " + std::to_string(tile) + " accumulators per thread; the limit is " +
               std::to_string(kMaxTile);
    }
    // The inner loop is unrolled in full; beyond this the code no longer fits the instruction cache (64 KiB).
    const std::int64_t work = std::int64_t{tile} * p[kDepthU];
    if (work > 16384) {
        return "ThreadTile0 · ThreadTile1 · DepthU is " + std::to_string(work) + "; the limit is 16384 (code size)";
    }
    const std::int64_t lds = lds_bytes(p, type);
    if (lds > target.lds_bytes) {
        return "the tiles need " + std::to_string(lds) + " bytes of LDS; " + target.name + " has " +
               std::to_string(target.lds_bytes);
    }
    return std::nullopt;
}

}  // namespace

const std::vector<Target>& targets() {
    static const std::vector<Target> kTargets{
        {"x86-64-v3", false, 32, 16, 0},
        {"x86-64-v4", false, 64, 32, 0},
        {"gfx942", true, 0, 0, 64 << 10},
        {"gfx950", true, 0, 0, 160 << 10},
    };
    return kTargets;
}

const Target* find_target(std::string_view name) {
    for (const Target& target : targets()) {
        if (target.name == name) return &target;
    }
    return nullptr;
}

const std::array<ParameterInfo, kParameters>& parameters() {
    return kInfo;
}

std::optional<Parameter> find_parameter(std::string_view name) {
    for (std::size_t i = 0; i < kParameters; ++i) {
        if (name == kInfo[i].name) return static_cast<Parameter>(i);
    }
    return std::nullopt;
}

bool ParameterInfo::allows(std::int64_t value) const {
    if (value == kAuto) return true;
    if (value < low || value > high) return false;
    return !power_of_two || value == 0 || is_power_of_two(value);
}

std::string ParameterInfo::allowed_text() const {
    std::string out = "-1 (automatic), ";
    if (!power_of_two && high - low > 1) return out + std::to_string(low) + " to " + std::to_string(high);
    bool first = true;
    for (int value = low; value <= high; ++value) {
        if (!allows(value)) continue;
        out += (first ? "" : ", ") + std::to_string(value);
        first = false;
    }
    return out;
}

Point automatic_point() {
    Point point;
    point.fill(kAuto);
    return point;
}

Point resolve(const Point& point, const ProblemType& type, const Target& target) {
    Point p = point;
    if (target.gpu) {
        resolve_gpu(p);
    } else {
        resolve_cpu(p, type, target);
    }
    for (std::size_t i = 0; i < kParameters; ++i) {
        if (!(target.gpu ? kInfo[i].on_gpu : kInfo[i].on_cpu)) p[i] = 0;
    }
    return p;
}

std::optional<std::string> invalid_reason(const Point& p, const ProblemType& type, const Target& target) {
    if (!target.offers(type.type)) {
        return std::string("data type ") + to_char(type.type) + " is not offered on " + target.name;
    }
    if (p[kThreadTile0] % p[kVectorWidth] != 0) return divides(p, kVectorWidth, kThreadTile0);
    if (auto reason = divides(p, kThreadTile0, kMacroTile0)) return reason;
    if (auto reason = divides(p, kThreadTile1, kMacroTile1)) return reason;
    return target.gpu ? invalid_gpu(p, type, target) : invalid_cpu(p, type, target);
}

std::string kernel_name(const ProblemType& type, const Point& point, const Target& target) {
    std::string name = type.name() + "_";
    for (std::size_t i = 0; i < kParameters; ++i) {
        if (target.gpu ? !kInfo[i].on_gpu : !kInfo[i].on_cpu) continue;
        name += kInfo[i].short_name + std::to_string(point[i]);
    }
    return name;
}

std::int64_t workspace_bytes(const Point& p, const ProblemType& type, const Target& target) {
    if (target.gpu) return 0;
    // Without packing one sliver is still copied: the ragged last one, so that no vector reads past the matrix.
    const std::int64_t rows = p[kPackA] != 0 ? round_up(p[kMacroTile0], p[kThreadTile0]) : p[kThreadTile0];
    const std::int64_t columns = p[kPackB] != 0 ? round_up(p[kMacroTile1], p[kThreadTile1]) : p[kThreadTile1];
    const std::int64_t a = (rows * p[kDepthU] * size_of(type.type) + 63) / 64 * 64;
    const std::int64_t b = (columns * p[kDepthU] * size_of(type.type) + 63) / 64 * 64;
    return a + b;
}

std::int64_t lds_bytes(const Point& p, const ProblemType& type) {
    const std::int64_t row = std::int64_t{p[kMacroTile0]} + p[kLdsPadA] + p[kMacroTile1] + p[kLdsPadB];
    return row * p[kDepthU] * size_of(type.type);
}

}  // namespace tunefarm::gemm
