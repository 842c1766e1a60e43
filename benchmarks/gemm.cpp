// SPDX-License-Identifier: MIT
// The best of a few gemm kernels beside single-threaded OpenBLAS, sgemm at 1024³: built by the toolchain's own code,
// validated, timed in one process and interleaved, so that both see the same machine. Prints ratios with intervals.
#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/files.h"
#include "build_paths.h"
#include "worker/toolchains/gemm/buffer.h"
#include "worker/toolchains/gemm/driver.h"
#include "worker/toolchains/gemm/gemm_kernel.h"
#include "worker/toolchains/gemm/generate.h"
#include "worker/toolchains/gemm/measure.h"

namespace tunefarm::gemm {
namespace {

constexpr int kSize = 1024;
constexpr int kRounds = 41;

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

int die(const std::string& message) {
    std::fprintf(stderr, "gemm benchmark: %s\n", message.c_str());
    return 1;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Candidate {
    std::string name;
    std::int64_t workspace = 0;
    gemm_function function = nullptr;
    std::vector<double> us;
};

/// Points that are good on CPUs with AVX-512, and with AVX2 alone.
std::vector<Point> points(const Target& target) {
    std::vector<Point> list;
    const std::vector<std::array<int, 3>> wide{{32, 12, 384}, {48, 8, 384}, {64, 6, 384}, {64, 6, 256}, {80, 5, 384}};
    const std::vector<std::array<int, 3>> narrow{{16, 6, 384}, {24, 4, 384}, {16, 6, 256}, {8, 12, 384}};
    for (const auto& [rows, columns, depth] : target.vector_bytes == 64 ? wide : narrow) {
        Point point = automatic_point();
        point[kThreadTile0] = rows;
        point[kThreadTile1] = columns;
        point[kDepthU] = depth;
        list.push_back(resolve(point, {}, target));
    }
    return list;
}

/// With OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE of the environment the peer could be slowed, so they are dropped. An
/// OpenBLAS that does not know this CPU falls back to its slowest code: then it is told to use the best that the CPU
/// can run.
void* load_openblas(const Target& target, std::string* core) {
    ::unsetenv("OPENBLAS_CORETYPE");
    ::unsetenv("OPENBLAS_L2_SIZE");
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void* const handle = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return nullptr;
    const auto name = reinterpret_cast<char* (*)()>(::dlsym(handle, "openblas_get_corename"));
    *core = name != nullptr ? name() : "unknown";
    const bool unknown_cpu = *core == "Prescott" || *core == "Core2" || *core == "unknown";
    if (!unknown_cpu || std::getenv("TUNEFARM_BENCH_AGAIN") != nullptr) return handle;
    // The choice is made when the library is loaded, and it cannot be unloaded safely: a fresh process makes it again.
    std::printf(
        "OpenBLAS took this CPU for a %s; starting again with the core type that it has for this instruction set\n",
        core->c_str());
    std::fflush(stdout);
    ::setenv("TUNEFARM_BENCH_AGAIN", target.vector_bytes == 64 ? "SkylakeX" : "Haswell", 1);
    ::execl("/proc/self/exe", "gemm_benchmark", static_cast<char*>(nullptr));
    return handle;
}

int run() {
    const char* const again = std::getenv("TUNEFARM_BENCH_AGAIN");
    const Target* target = find_target(cpu_runs(*find_target("x86-64-v4")) ? "x86-64-v4" : "x86-64-v3");
    if (!cpu_runs(*target)) return die("this CPU has no AVX2");
    std::string core;
    void* openblas = nullptr;
    if (again != nullptr) {
        ::unsetenv("OPENBLAS_L2_SIZE");
        ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
        ::setenv("OPENBLAS_CORETYPE", again, 1);
        openblas = ::dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
        const auto name =
            openblas != nullptr ? reinterpret_cast<char* (*)()>(::dlsym(openblas, "openblas_get_corename")) : nullptr;
        core = name != nullptr ? name() : "unknown";
    } else {
        openblas = load_openblas(*target, &core);
    }
    if (openblas == nullptr) return die("cannot load libopenblas.so.0: install libopenblas0-pthread");
    const auto set_threads = reinterpret_cast<void (*)(int)>(::dlsym(openblas, "openblas_set_num_threads"));
    const auto sgemm = reinterpret_cast<Sgemm>(::dlsym(openblas, "cblas_sgemm"));
    if (set_threads == nullptr || sgemm == nullptr) return die("libopenblas.so.0 has no cblas_sgemm");
    set_threads(1);

    const Tools tools = Tools::find(TUNEFARM_BINARY_DIR "/bin/tunefarm-driver-gemm");
    if (tools.clang.empty() || tools.linker.empty()) return die("clang-22 and lld-22 are needed");
    auto folder = make_temporary_directory("/tmp/gemm-benchmark-");
    if (!folder) return die(folder.error().message);
    std::vector<Candidate> candidates;
    std::vector<std::string> objects;
    Failure failure;
    Compiled compiled;
    for (const Point& point : points(*target)) {
        objects.push_back("k" + std::to_string(objects.size()) + ".o");
        candidates.push_back({kernel_name({}, point, *target), workspace_bytes(point, {}, *target), nullptr, {}});
        if (!compile_kernel(tools, *target, generate_kernel({}, point, *target), *folder, objects.back(), &compiled,
                            &failure))
            return die(failure.message + failure.log);
    }
    const bool helped = write_file_atomically(*folder + "/source.c", generate_helper(DataType::kFloat)).ok();
    if (!helped || !compile_helper(tools, *folder + "/source.c", *folder, "helper.so", &compiled, &failure) ||
        !link_library(tools, *target, objects, *folder, "kernels.so", &compiled, &failure)) {
        return die(failure.message + failure.log);
    }
    BenchRequest request;
    request.library = *folder + "/kernels.so";
    request.helper = *folder + "/helper.so";
    request.problem = Problem{kSize, kSize, 1, kSize};
    std::int64_t workspace = 0;
    for (const Candidate& candidate : candidates) {
        request.order.push_back(request.solutions.size());
        request.solutions.push_back({candidate.name, candidate.name, candidate.workspace});
        workspace = std::max(workspace, candidate.workspace);
    }
    bool all_passed = true;
    {
        Bench bench;
        if (!bench.validate(
                request,
                [&](const BenchSolution& s, const Verdict& v) {
                    if (!v.passed) std::fprintf(stderr, "%s: %s\n", s.name.c_str(), v.reason.c_str());
                    all_passed = all_passed && v.passed;
                },
                &failure)) {
            return die(failure.message);
        }
    }
    if (!all_passed) return die("a kernel is wrong");

    void* const library = ::dlopen(request.library.c_str(), RTLD_NOW);
    if (library == nullptr) return die("cannot load the kernels");
    for (Candidate& candidate : candidates)
        candidate.function = reinterpret_cast<gemm_function>(::dlsym(library, candidate.name.c_str()));
    const std::size_t bytes = sizeof(float) * kSize * kSize;
    auto a = Buffer::make(bytes);
    auto b = Buffer::make(bytes);
    auto d = Buffer::make(bytes);
    auto w = Buffer::make(static_cast<std::size_t>(workspace));
    if (!a || !b || !d || !w) return die("not enough memory");
    for (std::size_t i = 0; i < std::size_t{kSize} * kSize; ++i) {
        static_cast<float*>(a->data())[i] = static_cast<float>(i % 13) - 6;
        static_cast<float*>(b->data())[i] = static_cast<float>(i % 11) - 5;
        static_cast<float*>(d->data())[i] = 0;
    }
    gemm_arguments g{kSize, kSize, kSize, 1, a->data(), b->data(), d->data(), d->data(), kSize,    kSize,
                     kSize, kSize, 0,     0, 0,         0,         1,         0,         w->data()};
    const auto clock = [](auto&& work) {
        const auto start = std::chrono::steady_clock::now();
        work();
        return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    };
    std::vector<double> peer;
    for (int round = 0; round < kRounds; ++round) {
        for (Candidate& candidate : candidates) candidate.us.push_back(clock([&] { candidate.function(&g); }));
        // CblasColMajor, CblasNoTrans
        peer.push_back(clock([&] {
            sgemm(102, 111, 111, kSize, kSize, kSize, 1, static_cast<const float*>(a->data()), kSize,
                  static_cast<const float*>(b->data()), kSize, 0, static_cast<float*>(d->data()), kSize);
        }));
        if (round == 0) {  // the first round warms up
            for (Candidate& candidate : candidates) candidate.us.clear();
            peer.clear();
        }
    }
    const double flop = 2.0 * kSize * kSize * kSize;
    std::printf("sgemm %d^3, one thread, %s, %zu interleaved rounds; OpenBLAS core type %s: %.1f GFLOP/s (median)\n",
                kSize, target->name.c_str(), peer.size(), core.c_str(), flop / median(peer) / 1e3);
    const Candidate* best = nullptr;
    std::array<double, 3> best_share{};
    for (const Candidate& candidate : candidates) {
        std::vector<double> ratio;
        for (std::size_t i = 0; i < peer.size(); ++i) ratio.push_back(peer[i] / candidate.us[i]);
        std::sort(ratio.begin(), ratio.end());
        // The distribution-free 95 % interval of a median of 40: ranks 14 and 27.
        const std::array<double, 3> share{ratio[ratio.size() / 2], ratio[13], ratio[26]};
        std::printf("%7.1f GFLOP/s  share %.3f  [%.3f, %.3f]  %s\n", flop / median(candidate.us) / 1e3, share[0],
                    share[1], share[2], candidate.name.c_str());
        if (best == nullptr || share[0] > best_share[0]) {
            best = &candidate;
            best_share = share;
        }
    }
    std::printf("winner's share of OpenBLAS: %.3f [%.3f, %.3f]  %s\n", best_share[0], best_share[1], best_share[2],
                best->name.c_str());
    const Status removed = remove_tree(*folder);
    return removed.ok() ? 0 : 1;
}

}  // namespace
}  // namespace tunefarm::gemm

int main() {
    return tunefarm::gemm::run();
}
