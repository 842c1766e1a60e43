/* SPDX-License-Identifier: MIT
 * What generated gemm code and its caller agree on. Included by every generated source (C, freestanding) and by the
 * driver (C++). Plain C without other headers, so that one clang compiles it for every target. A changed byte here is
 * another fingerprint: everything that was compiled with it is built again. */
#ifndef TUNEFARM_GEMM_KERNEL_H
#define TUNEFARM_GEMM_KERNEL_H

typedef long gemm_index; /* 64 bits on every target */

/* D = alpha * A * B + beta * C for each of `batch` matrices; all column-major; leading dimensions and strides in
 * elements. D never overlaps the inputs; C is not read where beta is 0. alpha and beta are rounded to the kernel's
 * type. `workspace` is aligned to 64 bytes and as large as the manifest says. */
struct gemm_arguments {
    gemm_index m, n, k, batch;
    const void* a;
    const void* b;
    const void* c;
    void* d;
    gemm_index lda, ldb, ldc, ldd;
    gemm_index stride_a, stride_b, stride_c, stride_d;
    double alpha, beta;
    void* workspace;
};

/* A host kernel: `void <symbol>(const struct gemm_arguments*)`. */
typedef void (*gemm_function)(const struct gemm_arguments*);

#ifdef __AMDGCN__
#define GEMM_KERNEL __attribute__((amdgpu_kernel, visibility("protected")))
#define GEMM_GLOBAL __attribute__((address_space(1)))
#define GEMM_LDS static __attribute__((address_space(3), loader_uninitialized))
#define GEMM_BARRIER()                                         \
    do {                                                       \
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
        __builtin_amdgcn_s_barrier();                          \
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
    } while (0)
#else
#define GEMM_KERNEL __attribute__((visibility("default")))
#endif

#define GEMM_INLINE static inline __attribute__((always_inline))
#define GEMM_MIN(x, y) ((x) < (y) ? (x) : (y))

/* The helper library of a step (reference and data), for one data type. Host code. */

/* Fills rows × columns of each batch with values of a pattern (enum gemm_pattern), from a seed. */
typedef void (*gemm_fill_function)(void* data, gemm_index rows, gemm_index columns, gemm_index ld, gemm_index batch,
                                   gemm_index stride, int pattern, unsigned long seed);

/* The reference in double accumulation. `expected` has m × n × batch elements, tight. `tolerance` gets, per element,
 * the sum of the magnitudes of all terms: |alpha| sum |a b| + |beta c|. */
typedef void (*gemm_reference_function)(const struct gemm_arguments* arguments, int transpose_a, int transpose_b,
                                        double* expected, double* magnitude);

/* Compares D with the expectation. Returns the largest of |d - expected| / magnitude, infinity where d is not finite.
 */
typedef double (*gemm_compare_function)(const struct gemm_arguments* arguments, const double* expected,
                                        const double* magnitude);

enum gemm_pattern {
    GEMM_PATTERN_INTEGERS = 0, /* whole numbers from -3 to 3: sums are exact, so results must be equal */
    GEMM_PATTERN_UNIFORM = 1,  /* uniform in [-1, 1) */
    GEMM_PATTERN_SCALED = 2,   /* uniform, each column scaled by a power of two between 2^-6 and 2^6 */
};

#endif
