// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/measure.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "worker/toolchains/gemm/buffer.h"
#include "worker/toolchains/gemm/gemm_kernel.h"

namespace tunefarm::gemm {
namespace {

/// A sample shorter than this is batched: 200 µs are far above the clock's resolution and a system call's cost.
constexpr double kMinSampleUs = 200;
/// A launch shorter than this is preceded by an untimed one. Samples are hot on purpose: candidates are interleaved,
/// and without it each would pay for what its predecessor left in the caches, which is neither's property.
constexpr double kWarmUpBelowUs = 1000;
constexpr int kMaxLaunches = 100'000;

bool fail(Failure* failure, const char* klass, std::string message) {
    *failure = Failure{klass, std::move(message), {}, {}, {}};
    return false;
}

/// One input of the validation. The first one's sums are exact in every type, and its C and D hold no numbers.
struct CaseShape {
    int pattern;
    double alpha;
    double beta;
};
constexpr CaseShape kCases[] = {
    {GEMM_PATTERN_INTEGERS, 1, 0}, {GEMM_PATTERN_UNIFORM, 1.25, -0.5}, {GEMM_PATTERN_SCALED, -1, 1}};
constexpr std::size_t kTimedCase = 1;

struct Case {
    Buffer a;
    Buffer b;
    Buffer c;
    std::vector<double> expected;
    std::vector<double> magnitude;
};

class Library {
  public:
    Library() = default;
    ~Library() {
        if (handle_ != nullptr) ::dlclose(handle_);
    }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    bool open(const std::string& path, Failure* failure) {
        handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) return true;
        const char* const words = ::dlerror();
        return fail(failure, "environment",
                    fmt::format("cannot load {}: {}", path, words != nullptr ? words : "unknown"));
    }

    template <typename Function>
    bool find(const char* symbol, Function* function, Failure* failure) const {
        void* const address = ::dlsym(handle_, symbol);
        if (address == nullptr) return fail(failure, "input", fmt::format("the library has no kernel {}", symbol));
        *function = reinterpret_cast<Function>(address);
        return true;
    }

  private:
    void* handle_ = nullptr;
};

/// Runs the rest of a scope on the given CPUs.
class Pinned {
  public:
    ~Pinned() {
        if (changed_) ::sched_setaffinity(0, sizeof before_, &before_);
    }
    bool pin(const std::vector<int>& cpus, Failure* failure) {
        if (cpus.empty()) return true;
        cpu_set_t wanted;
        CPU_ZERO(&wanted);
        for (const int cpu : cpus) {
            if (cpu < 0 || cpu >= CPU_SETSIZE) return fail(failure, "environment", fmt::format("no CPU {}", cpu));
            CPU_SET(static_cast<std::size_t>(cpu), &wanted);
        }
        if (::sched_getaffinity(0, sizeof before_, &before_) != 0 ||
            ::sched_setaffinity(0, sizeof wanted, &wanted) != 0) {
            return fail(failure, "environment",
                        fmt::format("cannot run on CPU {}: {}", cpus.front(), std::strerror(errno)));
        }
        changed_ = true;
        return true;
    }

  private:
    cpu_set_t before_{};
    bool changed_ = false;
};

}  // namespace

double tolerance(DataType type, std::int64_t k) {
    const double sum = 16 + 4 * std::sqrt(static_cast<double>(k));
    if (type == DataType::kDouble) return sum * 0x1p-53 * 2;  // the reference rounds as much as the kernel
    if (type == DataType::kHalf) return sum * 0x1p-24 + 2 * 0x1p-11;
    return sum * 0x1p-24;
}

struct Bench::State {
    ProblemType type;
    Problem problem;
    std::uint64_t seed = 0;
    bool valid = false;
    std::map<std::size_t, Case> cases;
    Buffer d;
    Buffer workspace;
    std::map<std::string, double> estimate_us;

    gemm_fill_function fill = nullptr;
    gemm_reference_function reference = nullptr;
    gemm_compare_function compare = nullptr;

    std::int64_t rows_a() const { return type.transpose_a ? problem.k : problem.m; }
    std::int64_t columns_a() const { return type.transpose_a ? problem.m : problem.k; }
    std::int64_t rows_b() const { return type.transpose_b ? problem.n : problem.k; }
    std::int64_t columns_b() const { return type.transpose_b ? problem.k : problem.n; }
    std::size_t bytes(std::int64_t ld, std::int64_t columns) const {
        return static_cast<std::size_t>(ld * columns * problem.batch * size_of(type.type));
    }

    double beta(const CaseShape& shape) const { return type.use_beta ? shape.beta : 0; }
    bool has_case(std::size_t index) const {
        // The third case would double the reference's cost on large problems; what it finds does not depend on the
        // size.
        return index < 2 || (index == 2 && type.use_beta && problem.flop() < 1e8);
    }

    gemm_arguments arguments(const Case& data, double alpha, double beta_value) const {
        gemm_arguments g{};
        g.m = problem.m;
        g.n = problem.n;
        g.k = problem.k;
        g.batch = problem.batch;
        g.a = data.a.data();
        g.b = data.b.data();
        g.c = data.c.data();
        g.d = d.data();
        g.lda = problem.lda;
        g.ldb = problem.ldb;
        g.ldc = problem.ldc;
        g.ldd = problem.ldd;
        g.stride_a = problem.lda * columns_a();
        g.stride_b = problem.ldb * columns_b();
        g.stride_c = problem.ldc * problem.n;
        g.stride_d = problem.ldd * problem.n;
        g.alpha = alpha;
        g.beta = beta_value;
        g.workspace = workspace.data();
        return g;
    }

    bool make(Buffer* buffer, std::size_t size, Failure* failure) {
        auto made = Buffer::make(size);
        if (!made) return fail(failure, "environment", made.error().message);
        *buffer = std::move(*made);
        return true;
    }

    /// Opens the libraries and makes sure that the problem's data are there.
    bool begin(const BenchRequest& request, Failure* failure) {
        const Problem full = request.problem.with_leading_dimensions(request.type);
        if (!valid || !(problem == full) || !(type == request.type) || seed != request.seed) {
            valid = false;
            cases.clear();
            estimate_us.clear();
            type = request.type;
            problem = full;
            seed = request.seed;
            if (!make(&d, bytes(problem.ldd, problem.n), failure)) return false;
            valid = true;
        }
        std::int64_t needed = 0;
        for (const BenchSolution& solution : request.solutions) needed = std::max(needed, solution.workspace);
        if (workspace.data() == nullptr || workspace.size() != static_cast<std::size_t>(needed)) {
            if (!make(&workspace, static_cast<std::size_t>(needed), failure)) return false;
        }
        return true;
    }

    bool open(const BenchRequest& request, Library* kernels, Library* helpers, Failure* failure) {
        return kernels->open(request.library, failure) && helpers->open(request.helper, failure) &&
               helpers->find("gemm_fill", &fill, failure) && helpers->find("gemm_reference", &reference, failure) &&
               helpers->find("gemm_compare", &compare, failure);
    }

    bool inputs(std::size_t index, Failure* failure) {
        if (cases.count(index) != 0) return true;
        Case data;
        if (!make(&data.a, bytes(problem.lda, columns_a()), failure) ||
            !make(&data.b, bytes(problem.ldb, columns_b()), failure) ||
            !make(&data.c, bytes(problem.ldc, problem.n), failure)) {
            return false;
        }
        const CaseShape& shape = kCases[index];
        const gemm_arguments g = arguments(data, 1, 0);
        fill(data.a.data(), rows_a(), columns_a(), problem.lda, problem.batch, g.stride_a, shape.pattern, seed * 3 + 1);
        fill(data.b.data(), rows_b(), columns_b(), problem.ldb, problem.batch, g.stride_b, shape.pattern, seed * 3 + 2);
        if (beta(shape) != 0) {
            fill(data.c.data(), problem.m, problem.n, problem.ldc, problem.batch, g.stride_c, shape.pattern,
                 seed * 3 + 3);
        }
        data.a.make_read_only();
        data.b.make_read_only();
        data.c.make_read_only();
        cases.emplace(index, std::move(data));
        return true;
    }

    bool expect(std::size_t index, Failure* failure) {
        if (!inputs(index, failure)) return false;
        Case& data = cases.at(index);
        if (!data.expected.empty()) return true;
        const auto count = static_cast<std::size_t>(problem.m * problem.n * problem.batch);
        data.expected.resize(count);
        data.magnitude.resize(count);
        const gemm_arguments g = arguments(data, kCases[index].alpha, beta(kCases[index]));
        reference(&g, type.transpose_a, type.transpose_b, data.expected.data(), data.magnitude.data());
        return true;
    }

    /// Whether what lies between the columns of D is as it was.
    bool gaps_intact() const {
        const auto size = static_cast<std::size_t>(size_of(type.type));
        const std::size_t column = static_cast<std::size_t>(problem.ldd) * size;
        const std::size_t used = static_cast<std::size_t>(problem.m) * size;
        const auto* const bytes_of_d = static_cast<const unsigned char*>(d.data());
        for (std::size_t at = 0; at + column <= d.size() && used < column; at += column) {
            if (!std::all_of(bytes_of_d + at + used, bytes_of_d + at + column,
                             [](unsigned char x) { return x == 0xff; }))
                return false;
        }
        return true;
    }

    void check(gemm_function function, std::size_t index, Verdict* verdict) {
        const CaseShape& shape = kCases[index];
        Case& data = cases.at(index);
        d.poison();
        const gemm_arguments g = arguments(data, shape.alpha, beta(shape));
        function(&g);
        const double error = compare(&g, data.expected.data(), data.magnitude.data());
        verdict->error = std::max(verdict->error, error);
        // 9 · K and its partial sums are whole numbers that the type holds: anything but equality is an error.
        const double exact_up_to = type.type == DataType::kDouble ? 0x1p53 : 0x1p24;
        const bool exact = shape.pattern == GEMM_PATTERN_INTEGERS && type.type != DataType::kHalf &&
                           9.0 * static_cast<double>(problem.k) < exact_up_to;
        if (!(error <= (exact ? 0 : verdict->tolerance))) {
            verdict->passed = false;
            verdict->reason = fmt::format("case {} (alpha {}, beta {}): error {:g}", index, g.alpha, g.beta, error);
        } else if (!d.canaries_intact() || !gaps_intact()) {
            verdict->passed = false;
            verdict->reason = "the kernel wrote outside of its result";
        } else if (!workspace.canaries_intact()) {
            verdict->passed = false;
            verdict->reason = "the kernel wrote outside of its workspace";
            workspace.poison();
        }
    }
};

Bench::Bench() : state_(std::make_unique<State>()) {}
Bench::~Bench() = default;

bool Bench::validate(const BenchRequest& request, const OnVerdict& on_verdict, Failure* failure) {
    Library kernels;
    Library helpers;
    Pinned pinned;
    State& s = *state_;
    if (!pinned.pin(request.cpus, failure) || !s.begin(request, failure) ||
        !s.open(request, &kernels, &helpers, failure))
        return false;
    for (std::size_t index = 0; s.has_case(index); ++index) {
        if (!s.expect(index, failure)) return false;
    }
    for (int repeat = 0; repeat < request.repeats; ++repeat) {
        for (const std::size_t which : request.order) {
            const BenchSolution& solution = request.solutions[which];
            gemm_function function = nullptr;
            if (!kernels.find(solution.symbol.c_str(), &function, failure)) return false;
            Verdict verdict;
            verdict.passed = true;
            verdict.tolerance = tolerance(s.type.type, s.problem.k);
            for (std::size_t index = 0; s.has_case(index) && verdict.passed; ++index)
                s.check(function, index, &verdict);
            on_verdict(solution, verdict);
        }
    }
    return true;
}

bool Bench::time(const BenchRequest& request, const OnSample& on_sample, Failure* failure) {
    using Clock = std::chrono::steady_clock;
    Library kernels;
    Library helpers;
    Pinned pinned;
    State& s = *state_;
    if (!pinned.pin(request.cpus, failure) || !s.begin(request, failure) ||
        !s.open(request, &kernels, &helpers, failure))
        return false;
    if (!s.inputs(kTimedCase, failure)) return false;
    const gemm_arguments g = s.arguments(s.cases.at(kTimedCase), 1, 0);
    const auto run = [&g](gemm_function function, int launches) {
        const auto start = Clock::now();
        for (int i = 0; i < launches; ++i) function(&g);
        return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / launches;
    };
    for (int repeat = 0; repeat < request.repeats; ++repeat) {
        for (const std::size_t which : request.order) {
            const BenchSolution& solution = request.solutions[which];
            gemm_function function = nullptr;
            if (!kernels.find(solution.symbol.c_str(), &function, failure)) return false;
            auto known = s.estimate_us.find(solution.name);
            if (known == s.estimate_us.end()) {
                run(function, 1);
                known = s.estimate_us.emplace(solution.name, std::max(0.01, run(function, 1))).first;
            }
            if (known->second < kWarmUpBelowUs) run(function, 1);
            const double wanted = std::ceil(kMinSampleUs / known->second);
            Sample sample;
            sample.launches = static_cast<int>(std::clamp(wanted, 1.0, static_cast<double>(kMaxLaunches)));
            sample.us = run(function, sample.launches);
            // An estimate that was disturbed upwards would leave later samples too short.
            known->second = std::min(known->second, sample.us);
            on_sample(solution, sample);
        }
    }
    return true;
}

}  // namespace tunefarm::gemm
