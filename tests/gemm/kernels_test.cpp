// SPDX-License-Identifier: MIT
// Kernels run here: against the reference, on sizes that fit no tile; and kernels that are wrong on purpose.
#include <gtest/gtest.h>

#include "tests/gemm/fixture.h"
#include "worker/toolchains/gemm/generate.h"
#include "worker/toolchains/gemm/measure.h"

namespace tunefarm::gemm {
namespace {

class Kernels : public testing::Test {
  protected:
    void SetUp() override {
        tools_ = test_tools();
        if (tools_.clang.empty() || tools_.linker.empty()) GTEST_SKIP() << "clang-22 and lld-22 are not installed";
        if (!cpu_runs(*find_target("x86-64-v3"))) GTEST_SKIP() << "this CPU has no AVX2";
    }

    /// Compiled once per type and test.
    std::string helper(DataType type) {
        const std::string known = folder_.path() + "/helper_" + to_char(type) + ".so";
        if (::access(known.c_str(), R_OK) == 0) return known;
        const std::string source = folder_.write("source.c", generate_helper(type));
        Compiled compiled;
        Failure failure;
        const std::string name = std::string("helper_") + to_char(type) + ".so";
        EXPECT_TRUE(compile_helper(tools_, source, folder_.path(), name, &compiled, &failure)) << failure.log;
        return folder_.path() + "/" + name;
    }

    /// Compiles the sources into one library.
    std::string library(const Target& target, const std::vector<std::string>& sources) {
        std::vector<std::string> objects;
        Compiled compiled;
        Failure failure;
        for (const std::string& source : sources) {
            objects.push_back("k" + std::to_string(objects.size()) + ".o");
            EXPECT_TRUE(compile_kernel(tools_, target, source, folder_.path(), objects.back(), &compiled, &failure))
                << failure.log;
        }
        const std::string name = "kernels" + std::to_string(++libraries_) + ".so";
        EXPECT_TRUE(link_library(tools_, target, objects, folder_.path(), name, &compiled, &failure)) << failure.log;
        return folder_.path() + "/" + name;
    }

    Verdict verdict_of(const std::string& source, const Problem& problem) {
        const Target& target = *find_target("x86-64-v3");
        BenchRequest request;
        request.library = library(target, {source});
        request.helper = helper(DataType::kFloat);
        request.problem = problem;
        request.solutions = {{"bad", "bad", 4096}};
        request.order = {0};
        Verdict seen;
        Bench bench;
        Failure failure;
        EXPECT_TRUE(bench.validate(
            request, [&](const BenchSolution&, const Verdict& verdict) { seen = verdict; }, &failure))
            << failure.message;
        return seen;
    }

    Tools tools_;
    Folder folder_;
    int libraries_ = 0;
};

TEST_F(Kernels, RandomPointsAgreeWithTheReferenceOnOddSizes) {
    std::uint64_t state = 42;
    const auto next = [&state](int n) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
    };
    const std::vector<Problem> problems{{1, 1, 1, 1},
                                        {1, 17, 2, 3},
                                        {37, 1, 1, 40},
                                        {33, 29, 3, 65},
                                        {64, 48, 1, 32},
                                        {5, 7, 1, 0},
                                        {50, 31, 2, 19, 53, 51, 70, 71}};
    for (const Target& target : targets()) {
        if (!cpu_runs(target)) continue;
        for (int done = 0; done < 5;) {
            ProblemType type;
            type.type = next(2) != 0 ? DataType::kDouble : DataType::kFloat;
            type.transpose_a = next(2) != 0;
            type.transpose_b = next(2) != 0;
            type.use_beta = next(4) != 0;
            Point point = automatic_point();
            point[kVectorWidth] = 1 << next(5);
            point[kThreadTile0] = point[kVectorWidth] * (1 + next(3));
            point[kThreadTile1] = 1 + next(8);
            point[kMacroTile0] = point[kThreadTile0] * (1 + next(3));
            point[kMacroTile1] = point[kThreadTile1] * (1 + next(4));
            point[kUnrollK] = 1 << next(3);
            point[kDepthU] = point[kUnrollK] * (1 + next(8));
            point[kPrefetchDistance] = next(3) * 4;
            point[kPrefetchC] = next(2);
            point[kPackA] = next(2);
            point[kPackB] = next(2);
            point[kLoopOrder] = next(2);
            point = resolve(point, type, target);
            if (invalid_reason(point, type, target)) continue;
            ++done;
            const std::string name = kernel_name(type, point, target);
            SCOPED_TRACE(target.name + " " + name);
            BenchRequest request;
            request.library = library(target, {generate_kernel(type, point, target)});
            request.helper = helper(type.type);
            request.type = type;
            request.solutions = {{name, name, workspace_bytes(point, type, target)}};
            request.order = {0};
            Bench bench;
            for (const Problem& problem : problems) {
                request.problem = problem;
                Problem tight = problem;
                if (problem.lda != 0) {
                    tight = problem.with_leading_dimensions(type);
                    request.problem.lda = std::max<std::int64_t>(problem.lda, type.transpose_a ? problem.k : problem.m);
                }
                int verdicts = 0;
                Failure failure;
                ASSERT_TRUE(bench.validate(
                    request,
                    [&](const BenchSolution&, const Verdict& verdict) {
                        ++verdicts;
                        EXPECT_TRUE(verdict.passed) << problem.name() << ": " << verdict.reason;
                    },
                    &failure))
                    << failure.message;
                EXPECT_EQ(verdicts, 1);
            }
        }
    }
}

constexpr const char* kPrologue =
    "#include \"gemm_kernel.h\"\nGEMM_KERNEL void bad(const struct gemm_arguments* g) {\n"
    "    const float* a = g->a; const float* b = g->b; const float* c = g->c; float* d = g->d;\n"
    "    for (long j = 0; j < g->n; ++j) for (long i = 0; i < g->m; ++i) {\n        double s = 0;\n";

TEST_F(Kernels, ACorrectHandWrittenKernelPasses) {
    const Verdict verdict =
        verdict_of(std::string(kPrologue) +
                       "        for (long l = 0; l < g->k; ++l) s += (double)a[i + l * g->lda] * b[l + j * g->ldb];\n"
                       "        d[i + j * g->ldd] = (float)(g->alpha * s + (g->beta == 0 ? 0 : g->beta * c[i + j * "
                       "g->ldc]));\n    }\n}\n",
                   Problem{20, 20, 1, 50});
    EXPECT_TRUE(verdict.passed) << verdict.reason;
}

TEST_F(Kernels, ADroppedTermFails) {
    const Verdict verdict =
        verdict_of(std::string(kPrologue) +
                       "        for (long l = 1; l < g->k; ++l) s += (double)a[i + l * g->lda] * b[l + j * g->ldb];\n"
                       "        d[i + j * g->ldd] = (float)(g->alpha * s + (g->beta == 0 ? 0 : g->beta * c[i + j * "
                       "g->ldc]));\n    }\n}\n",
                   Problem{20, 20, 1, 50});
    EXPECT_FALSE(verdict.passed);
}

TEST_F(Kernels, ReadingCWhereBetaIsZeroFails) {
    const Verdict verdict =
        verdict_of(std::string(kPrologue) +
                       "        for (long l = 0; l < g->k; ++l) s += (double)a[i + l * g->lda] * b[l + j * g->ldb];\n"
                       "        d[i + j * g->ldd] = (float)(g->alpha * s + g->beta * c[i + j * g->ldc]);\n    }\n}\n",
                   Problem{20, 20, 1, 50});
    EXPECT_FALSE(verdict.passed);
}

TEST_F(Kernels, WritingBehindTheResultFails) {
    const Verdict verdict =
        verdict_of(std::string(kPrologue) +
                       "        for (long l = 0; l < g->k; ++l) s += (double)a[i + l * g->lda] * b[l + j * g->ldb];\n"
                       "        d[i + j * g->ldd] = (float)(g->alpha * s + (g->beta == 0 ? 0 : g->beta * c[i + j * "
                       "g->ldc]));\n    }\n"
                       "    d[g->ldd * g->n] = 0;\n}\n",
                   Problem{20, 20, 1, 50});
    EXPECT_FALSE(verdict.passed);
    EXPECT_EQ(verdict.reason, "the kernel wrote outside of its result");
}

TEST_F(Kernels, WritingBetweenTheColumnsFails) {
    const Verdict verdict =
        verdict_of(std::string(kPrologue) +
                       "        for (long l = 0; l < g->k; ++l) s += (double)a[i + l * g->lda] * b[l + j * g->ldb];\n"
                       "        d[i + j * g->ldd] = (float)(g->alpha * s + (g->beta == 0 ? 0 : g->beta * c[i + j * "
                       "g->ldc]));\n    }\n"
                       "    d[g->m] = 0;\n}\n",
                   Problem{20, 20, 1, 50, 24, 0, 0, 0});
    EXPECT_EQ(verdict.reason, "the kernel wrote outside of its result");
}

TEST_F(Kernels, TimesFollowTheOrderAndAreLongEnough) {
    const Target& target = *find_target("x86-64-v3");
    const Point point = resolve(automatic_point(), {}, target);
    const std::string name = kernel_name({}, point, target);
    BenchRequest request;
    request.library = library(target, {generate_kernel({}, point, target)});
    request.helper = helper(DataType::kFloat);
    request.problem = Problem{16, 16, 1, 16};
    request.solutions = {{name, name, workspace_bytes(point, {}, target)}};
    request.order = {0, 0, 0};
    request.repeats = 2;
    Bench bench;
    Failure failure;
    std::vector<Sample> samples;
    ASSERT_TRUE(bench.time(
        request, [&](const BenchSolution&, const Sample& sample) { samples.push_back(sample); }, &failure))
        << failure.message;
    ASSERT_EQ(samples.size(), 6U);
    for (const Sample& sample : samples) {
        EXPECT_GT(sample.us, 0);
        EXPECT_GT(sample.launches, 1) << "a launch of some microseconds is batched";
    }
}

}  // namespace
}  // namespace tunefarm::gemm
