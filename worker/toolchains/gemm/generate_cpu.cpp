// SPDX-License-Identifier: MIT
// Kernels for host CPUs: blocked over all three dimensions, with packed panels and a micro-kernel that keeps a
// ThreadTile0 × ThreadTile1 tile of the result in vector registers (the structure of Goto and van de Geijn, "Anatomy of
// high-performance matrix multiplication", 2008).
#include <fmt/format.h>

#include "worker/toolchains/gemm/generate.h"

namespace tunefarm::gemm {
namespace {

/// One inner step: a column of A times a row of B, all of it in registers.
std::string micro_step(const Point& p, const std::string& step) {
    const int vectors = p[kThreadTile0] / p[kVectorWidth];
    std::string out = "        {\n";
    if (p[kPrefetchDistance] > 0) {
        const int bytes_apart = 64;
        out += fmt::format("            for (int x = 0; x < MR * (int)sizeof(T); x += {})\n", bytes_apart);
        out += fmt::format("                __builtin_prefetch((const char*)(a + ({} + {}) * as) + x, 0, 3);\n", step,
                           p[kPrefetchDistance]);
    }
    for (int i = 0; i < vectors; ++i) {
        out += fmt::format("            const V a{0} = *(const VU*)(a + ({1}) * as + {2});\n", i, step,
                           i * p[kVectorWidth]);
    }
    for (int j = 0; j < p[kThreadTile1]; ++j) {
        out += fmt::format("            {{ const V x = (V)b[({}) * bs + {} * bj];", step, j);
        for (int i = 0; i < vectors; ++i) {
            out += fmt::format(" c{0}_{1} = __builtin_elementwise_fma(a{0}, x, c{0}_{1});", i, j);
        }
        out += " }\n";
    }
    return out + "        }\n";
}

/// Accumulates `kc` steps, then d = alpha · sum + scale · c. `scale` 0 never reads c.
std::string micro_kernel(const Point& p) {
    const int vectors = p[kThreadTile0] / p[kVectorWidth];
    std::string out =
        "GEMM_INLINE void micro(long kc, const T* a, const long as, const T* b, const long bs, const long bj,\n"
        "                       const T* c, long ldc, T* d, long ldd, T alpha, T scale) {\n";
    for (int j = 0; j < p[kThreadTile1]; ++j) {
        out += "    V";
        for (int i = 0; i < vectors; ++i) out += fmt::format("{}c{}_{} = 0", i == 0 ? " " : ", ", i, j);
        out += ";\n";
    }
    if (p[kPrefetchC] != 0) {
        out +=
            "    for (long j = 0; j < NR; ++j)\n"
            "        for (int x = 0; x < MR * (int)sizeof(T); x += 64) __builtin_prefetch((const char*)(d + j * ldd) + "
            "x, 1, 3);\n";
    }
    const int unroll = p[kUnrollK];
    out += "    long l = 0;\n";
    out += fmt::format(
        "#pragma clang loop unroll(disable) vectorize(disable)\n    for (; l + {0} <= kc; l += {0}) {{\n", unroll);
    for (int u = 0; u < unroll; ++u) out += micro_step(p, std::to_string(u));
    out += fmt::format("        a += {0} * as;\n        b += {0} * bs;\n    }}\n", unroll);
    if (unroll > 1) {
        out += "#pragma clang loop unroll(disable) vectorize(disable)\n    for (; l < kc; ++l) {\n";
        out += micro_step(p, "0");
        out += "        a += as;\n        b += bs;\n    }\n";
    }
    out += "    if (scale == 0) {\n";
    for (int j = 0; j < p[kThreadTile1]; ++j) {
        for (int i = 0; i < vectors; ++i) {
            out += fmt::format("        *(VU*)(d + {1} * ldd + {2}) = alpha * c{0}_{1};\n", i, j, i * p[kVectorWidth]);
        }
    }
    out += "    } else {\n";
    for (int j = 0; j < p[kThreadTile1]; ++j) {
        for (int i = 0; i < vectors; ++i) {
            out += fmt::format(
                "        *(VU*)(d + {1} * ldd + {2}) = alpha * c{0}_{1} + scale * *(const VU*)(c + {1} * ldc + {2});\n",
                i, j, i * p[kVectorWidth]);
        }
    }
    return out + "    }\n}\n\n";
}

/// The tile at the edge: computed in full into a buffer, of which rows × columns are kept. Loops over ragged parts are
/// kept simple throughout: what vectorising them would gain is not worth the compiler's time, once per kernel.
constexpr const char* kEdge =
    R"(__attribute__((noinline)) static void edge(long kc, const T* a, const long as, const T* b, const long bs, const long bj,
                                           const T* c, long ldc, T* d, long ldd, T alpha, T scale, long rows, long columns) {
    T tile[MR * NR] __attribute__((aligned(64)));
    micro(kc, a, as, b, bs, bj, tile, MR, tile, MR, alpha, 0);
    for (long j = 0; j < columns; ++j)
#pragma clang loop vectorize(disable) unroll(disable)
        for (long i = 0; i < rows; ++i)
            d[i + j * ldd] = scale == 0 ? tile[i + j * MR] : tile[i + j * MR] + scale * c[i + j * ldc];
}

)";

/// Slivers of MR rows (of A) or NR columns (of B), one step of the summation after the other, ragged ones padded with
/// 0. `inner` is the distance between neighbours inside a sliver, `outer` the one between steps.
constexpr const char* kPack =
    R"(GEMM_INLINE void pack_sliver(T* to, const T* from, const long inner, const long outer, const long width, long valid, long kc) {
    if (valid == width) {
        if (inner == 1) {
#pragma clang loop vectorize(disable) unroll(disable)
            for (long l = 0; l < kc; ++l)
                for (long i = 0; i < width; ++i) to[l * width + i] = from[i + l * outer];
        } else {
#pragma clang loop vectorize(disable)
            for (long l = 0; l < kc; ++l) {
#pragma clang loop vectorize(disable) unroll(full)
                for (long i = 0; i < width; ++i) to[l * width + i] = from[i * inner + l * outer];
            }
        }
        return;
    }
    for (long l = 0; l < kc; ++l)
#pragma clang loop vectorize(disable) unroll(disable)
        for (long i = 0; i < width; ++i) to[l * width + i] = i < valid ? from[i * inner + l * outer] : (T)0;
}

__attribute__((noinline)) static void pack_a(T* to, const T* from, long lda, long rows, long kc) {
    for (long i = 0; i < rows; i += MR)
        pack_sliver(to + i * kc, from + i * A_I, A_I, A_L, MR, GEMM_MIN(MR, rows - i), kc);
}

__attribute__((noinline)) static void pack_b(T* to, const T* from, long ldb, long columns, long kc) {
    for (long j = 0; j < columns; j += NR)
        pack_sliver(to + j * kc, from + j * B_J, B_J, B_L, NR, GEMM_MIN(NR, columns - j), kc);
}

)";

/// One block of the result: rows × columns, kc steps. `a` and `b` are the panels where packed, else the matrices.
constexpr const char* kBlock =
    R"(__attribute__((noinline)) static void block(long rows, long columns, long kc, const T* a, long lda, const T* b, long ldb,
                                            const T* c, long ldc, T* d, long ldd, T alpha, T scale, T* spare_a, T* spare_b) {
    (void)lda; (void)ldb; (void)spare_a; (void)spare_b;
    for (long j = 0; j < columns; j += NR) {
        const long nj = GEMM_MIN(NR, columns - j);
#if !PACK_B
        const int copy_b = nj < NR;
        if (copy_b) pack_sliver(spare_b, b + j * B_J, B_J, B_L, NR, nj, kc);
#endif
        for (long i = 0; i < rows; i += MR) {
            const long mi = GEMM_MIN(MR, rows - i);
            const T* const ct = c + i + j * ldc;
            T* const dt = d + i + j * ldd;
#if PACK_A
            const T* const at = a + i * kc;
            const long as = MR;
#else
            if (mi < MR) pack_sliver(spare_a, a + i * A_I, A_I, A_L, MR, mi, kc);
            const T* const at = mi < MR ? spare_a : a + i * A_I;
            const long as = mi < MR ? MR : A_L;
#endif
#if PACK_B
            if (mi == MR && nj == NR)
                micro(kc, at, as, b + j * kc, NR, 1, ct, ldc, dt, ldd, alpha, scale);
            else
                edge(kc, at, as, b + j * kc, NR, 1, ct, ldc, dt, ldd, alpha, scale, mi, nj);
#else
            if (mi == MR && nj == NR)
                micro(kc, at, as, b + j * B_J, B_L, B_J, ct, ldc, dt, ldd, alpha, scale);
            else if (copy_b)
                edge(kc, at, as, spare_b, NR, 1, ct, ldc, dt, ldd, alpha, scale, mi, nj);
            else
                edge(kc, at, as, b + j * B_J, B_L, B_J, ct, ldc, dt, ldd, alpha, scale, mi, nj);
#endif
        }
    }
}

)";

/// Where K is 0 the inner blocks never run: the result is beta · C.
constexpr const char* kEntry = R"(GEMM_KERNEL void SYMBOL(const struct gemm_arguments* args) {
    const long m = args->m, n = args->n, k = args->k;
    const long lda = args->lda, ldb = args->ldb, ldc = args->ldc, ldd = args->ldd;
    const T alpha = (T)args->alpha, beta = USE_BETA ? (T)args->beta : (T)0;
    T* const panel_a = (T*)args->workspace;
    T* const panel_b = (T*)((char*)args->workspace + PANEL_A_BYTES);
    for (long z = 0; z < args->batch; ++z) {
        const T* const a = (const T*)args->a + z * args->stride_a;
        const T* const b = (const T*)args->b + z * args->stride_b;
        const T* const c = (const T*)args->c + z * args->stride_c;
        T* const d = (T*)args->d + z * args->stride_d;
        if (k == 0) {
            for (long j = 0; j < n; ++j)
#pragma clang loop vectorize(disable) unroll(disable)
                for (long i = 0; i < m; ++i) d[i + j * ldd] = beta == 0 ? (T)0 : beta * c[i + j * ldc];
            continue;
        }
#if LOOP_ORDER == 0
        for (long j = 0; j < n; j += NC) {
            const long nj = GEMM_MIN(NC, n - j);
            for (long l = 0; l < k; l += KC) {
                const long kl = GEMM_MIN(KC, k - l);
                const T* const bp = b + l * B_L + j * B_J;
                if (PACK_B) pack_b(panel_b, bp, ldb, nj, kl);
                for (long i = 0; i < m; i += MC) {
                    const long mi = GEMM_MIN(MC, m - i);
                    const T* const ap = a + i * A_I + l * A_L;
                    if (PACK_A) pack_a(panel_a, ap, lda, mi, kl);
#else
        for (long i = 0; i < m; i += MC) {
            const long mi = GEMM_MIN(MC, m - i);
            for (long l = 0; l < k; l += KC) {
                const long kl = GEMM_MIN(KC, k - l);
                const T* const ap = a + i * A_I + l * A_L;
                if (PACK_A) pack_a(panel_a, ap, lda, mi, kl);
                for (long j = 0; j < n; j += NC) {
                    const long nj = GEMM_MIN(NC, n - j);
                    const T* const bp = b + l * B_L + j * B_J;
                    if (PACK_B) pack_b(panel_b, bp, ldb, nj, kl);
#endif
                    const T* const from = l == 0 ? c + i + j * ldc : d + i + j * ldd;
                    block(mi, nj, kl, PACK_A ? panel_a : ap, lda, PACK_B ? panel_b : bp, ldb, from, l == 0 ? ldc : ldd,
                          d + i + j * ldd, ldd, alpha, l == 0 ? beta : (T)1, panel_a, panel_b);
                }
            }
        }
    }
}
)";

}  // namespace

std::string generate_cpu_kernel(const ProblemType& type, const Point& p, const Target& target) {
    const char* const scalar = type.type == DataType::kDouble ? "double" : "float";
    const int size = size_of(type.type);
    const int rows = p[kPackA] != 0 ? p[kMacroTile0] : p[kThreadTile0];
    const int panel_a = (rows * p[kDepthU] * size + 63) / 64 * 64;
    std::string out = "/* Generated by tunefarm's gemm toolchain. */\n#include \"gemm_kernel.h\"\n\n";
    out += fmt::format("typedef {} T;\n", scalar);
    out += fmt::format("typedef T V __attribute__((ext_vector_type({})));\n", p[kVectorWidth]);
    out += fmt::format("typedef T VU __attribute__((ext_vector_type({}), aligned({}), may_alias));\n", p[kVectorWidth],
                       size);
    out += fmt::format("#define SYMBOL {}\n", kernel_name(type, p, target));
    out += fmt::format("#define MC {}L\n#define NC {}L\n#define KC {}L\n", p[kMacroTile0], p[kMacroTile1], p[kDepthU]);
    out += fmt::format("#define MR {}L\n#define NR {}L\n", p[kThreadTile0], p[kThreadTile1]);
    out += fmt::format("#define PACK_A {}\n#define PACK_B {}\n#define LOOP_ORDER {}\n", p[kPackA], p[kPackB],
                       p[kLoopOrder]);
    out += fmt::format("#define USE_BETA {}\n#define PANEL_A_BYTES {}L\n", type.use_beta ? 1 : 0, panel_a);
    out += fmt::format(
        "/* Distances between neighbours: A along i and l, B along l and j. */\n"
        "#define A_I {}\n#define A_L {}\n#define B_L {}\n#define B_J {}\n\n",
        type.transpose_a ? "lda" : "1L", type.transpose_a ? "1L" : "lda", type.transpose_b ? "ldb" : "1L",
        type.transpose_b ? "1L" : "ldb");
    out += micro_kernel(p);
    out += kEdge;
    out += kPack;
    out += kBlock;
    out += kEntry;
    return out;
}

std::string generate_kernel(const ProblemType& type, const Point& point, const Target& target) {
    return target.gpu ? generate_gpu_kernel(type, point, target) : generate_cpu_kernel(type, point, target);
}

}  // namespace tunefarm::gemm
