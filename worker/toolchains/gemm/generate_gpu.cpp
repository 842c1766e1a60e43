// SPDX-License-Identifier: MIT
// Kernels for AMD GPUs: a work group computes MacroTile0 × MacroTile1 of D from tiles of A and B in LDS, a thread
// ThreadTile0 × ThreadTile1 in registers. Plain fused multiply-add; bounds are tested, so every size is valid.
#include <fmt/format.h>

#include "worker/toolchains/gemm/generate.h"

namespace tunefarm::gemm {
namespace {

/// Loads and stores of one operand's tile. `across` is the tile's width (rows of A, columns of B), `inner` whether
/// memory is contiguous across (true) or along the summation (false).
std::string tile_functions(char which, const Point& p, bool contiguous_across, int threads) {
    const int across = p[which == 'a' ? kMacroTile0 : kMacroTile1];
    const int along = p[kDepthU];
    const int width = p[kVectorWidth];
    const int chunks = across * along / width;
    const int per_thread = (chunks + threads - 1) / threads;
    const int row = (contiguous_across ? across : along) / width;
    const char upper = which == 'a' ? 'A' : 'B';
    std::string out = fmt::format("#define CHUNKS_{} {}\n", upper, per_thread);
    // A chunk is VectorWidth neighbours in memory: `x` counts along memory, `y` across it.
    out += fmt::format(
        R"(GEMM_INLINE void load_{0}(V* r, const GEMM_GLOBAL T* from, long ld, long limit_x, long limit_y, int thread) {{
#pragma clang loop unroll(full)
    for (int s = 0; s < CHUNKS_{1}; ++s) {{
        const int chunk = thread + s * THREADS;
        const long x = chunk % {2} * VW, y = chunk / {2};
        V v = {{0}};
        if (chunk < {3} && y < limit_y) {{
            if (x + VW <= limit_x) {{
                v = *(const GEMM_GLOBAL VU*)(from + x + y * ld);
            }} else {{
#pragma clang loop unroll(full)
                for (int e = 0; e < VW; ++e)
                    if (x + e < limit_x) v[e] = from[x + e + y * ld];
            }}
        }}
        r[s] = v;
    }}
}}

GEMM_INLINE void store_{0}(const V* r, int thread) {{
#pragma clang loop unroll(full)
    for (int s = 0; s < CHUNKS_{1}; ++s) {{
        const int chunk = thread + s * THREADS;
        const int x = chunk % {2} * VW, y = chunk / {2};
        if (chunk >= {3}) continue;
#pragma clang loop unroll(full)
        for (int e = 0; e < VW; ++e) {4};
    }}
}}

)",
        which, upper, row, chunks,
        contiguous_across ? fmt::format("lds_{}[y][x + e] = r[s][e]", which)
                          : fmt::format("lds_{}[x + e][y] = r[s][e]", which));
    return out;
}

constexpr const char* kEntry =
    R"(/* Work group (x, y, z): rows, columns, batch. The grid is ceil(m / MT0) × ceil(n / MT1) × batch. */
GEMM_KERNEL __attribute__((amdgpu_flat_work_group_size(THREADS, THREADS)))
void SYMBOL(const GEMM_GLOBAL T* a, const GEMM_GLOBAL T* b, const GEMM_GLOBAL T* c, GEMM_GLOBAL T* d, float alpha, float beta,
            int m, int n, int k, int lda, int ldb, int ldc, int ldd, long stride_a, long stride_b, long stride_c, long stride_d) {
    const int thread = (int)__builtin_amdgcn_workitem_id_x();
    const int t0 = thread % T0, t1 = thread / T0;
    const long i0 = (long)__builtin_amdgcn_workgroup_id_x() * MT0, j0 = (long)__builtin_amdgcn_workgroup_id_y() * MT1;
    const long z = __builtin_amdgcn_workgroup_id_z();
    a += z * stride_a + i0 * A_I;
    b += z * stride_b + j0 * B_J;
    c += z * stride_c;
    d += z * stride_d;
    float acc[TT1][TT0];
#pragma clang loop unroll(full)
    for (int j = 0; j < TT1; ++j)
#pragma clang loop unroll(full)
        for (int i = 0; i < TT0; ++i) acc[j][i] = 0;
    V ra[CHUNKS_A], rb[CHUNKS_B];
#if PREFETCH
    LOAD(0);
#endif
    for (long l = 0; l < k; l += DU) {
#if !PREFETCH
        LOAD(l);
#endif
        GEMM_BARRIER();
        store_a(ra, thread);
        store_b(rb, thread);
        GEMM_BARRIER();
#if PREFETCH
        if (l + DU < k) LOAD(l + DU);
#endif
#pragma clang loop unroll(full)
        for (int u = 0; u < DU; ++u) {
            float fa[TT0], fb[TT1];
#pragma clang loop unroll(full)
            for (int i = 0; i < TT0; ++i) fa[i] = (float)lds_a[u][(i / VW * T0 + t0) * VW + i % VW];
#pragma clang loop unroll(full)
            for (int j = 0; j < TT1; ++j) fb[j] = (float)lds_b[u][(j / VW * T1 + t1) * VW + j % VW];
#pragma clang loop unroll(full)
            for (int j = 0; j < TT1; ++j)
#pragma clang loop unroll(full)
                for (int i = 0; i < TT0; ++i) acc[j][i] = __builtin_fmaf(fa[i], fb[j], acc[j][i]);
        }
    }
#pragma clang loop unroll(full)
    for (int j = 0; j < TT1; ++j) {
        const long column = j0 + (j / VW * T1 + t1) * VW + j % VW;
        if (column >= n) continue;
#pragma clang loop unroll(full)
        for (int i = 0; i < TT0; ++i) {
            const long row = i0 + (i / VW * T0 + t0) * VW + i % VW;
            if (row >= m) continue;
            float value = alpha * acc[j][i];
            if (USE_BETA && beta != 0) value += beta * (float)c[row + column * ldc];
            d[row + column * ldd] = (T)value;
        }
    }
}
)";

}  // namespace

std::string generate_gpu_kernel(const ProblemType& type, const Point& p, const Target& target) {
    const int size = size_of(type.type);
    const int t0 = p[kMacroTile0] / p[kThreadTile0];
    const int t1 = p[kMacroTile1] / p[kThreadTile1];
    std::string out = "/* Generated by tunefarm's gemm toolchain. */\n#include \"gemm_kernel.h\"\n\n";
    out += fmt::format("typedef {} T;\n", type.type == DataType::kHalf ? "_Float16" : "float");
    out += fmt::format("typedef T V __attribute__((ext_vector_type({})));\n", p[kVectorWidth]);
    out += fmt::format("typedef T VU __attribute__((ext_vector_type({}), aligned({})));\n", p[kVectorWidth], size);
    out += fmt::format("#define SYMBOL {}\n", kernel_name(type, p, target));
    out += fmt::format("#define MT0 {}\n#define MT1 {}\n#define DU {}\n#define VW {}\n", p[kMacroTile0], p[kMacroTile1],
                       p[kDepthU], p[kVectorWidth]);
    out += fmt::format("#define TT0 {}\n#define TT1 {}\n#define T0 {}\n#define T1 {}\n#define THREADS {}\n",
                       p[kThreadTile0], p[kThreadTile1], t0, t1, t0 * t1);
    out += fmt::format("#define PREFETCH {}\n#define USE_BETA {}\n", p[kPrefetchGlobalRead], type.use_beta ? 1 : 0);
    out += fmt::format("#define A_I {}\n#define B_J {}\n\n", type.transpose_a ? "(long)lda" : "1L",
                       type.transpose_b ? "1L" : "(long)ldb");
    out += fmt::format("GEMM_LDS T lds_a[DU][MT0 + {}] __attribute__((aligned(16)));\n", p[kLdsPadA]);
    out += fmt::format("GEMM_LDS T lds_b[DU][MT1 + {}] __attribute__((aligned(16)));\n\n", p[kLdsPadB]);
    out += tile_functions('a', p, !type.transpose_a, t0 * t1);
    out += tile_functions('b', p, type.transpose_b, t0 * t1);
    out += "#define LOAD(l) \\\n";
    out += type.transpose_a ? "    load_a(ra, a + (l), lda, k - (l), m - i0, thread); \\\n"
                            : "    load_a(ra, a + (l) * (long)lda, lda, m - i0, k - (l), thread); \\\n";
    out += type.transpose_b ? "    load_b(rb, b + (l) * (long)ldb, ldb, n - j0, k - (l), thread)\n\n"
                            : "    load_b(rb, b + (l), ldb, k - (l), n - j0, thread)\n\n";
    out += kEntry;
    return out;
}

}  // namespace tunefarm::gemm
