// SPDX-License-Identifier: MIT
// Validates and times kernels of a step's library in this process. A bad kernel may end the process: that is what
// drivers are for. Single-threaded; one Bench serves one driver.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "worker/toolchains/gemm/config.h"

namespace tunefarm::gemm {

struct BenchSolution {
    std::string name;
    std::string symbol;
    std::int64_t workspace = 0;
};

struct BenchRequest {
    std::string library;  ///< path of kernels.so
    std::string helper;   ///< path of the helper's shared library
    ProblemType type;
    Problem problem;
    std::vector<BenchSolution> solutions;
    std::vector<std::size_t> order;  ///< indices into `solutions`, executed as given
    int repeats = 1;
    std::vector<int> cpus;  ///< empty: wherever the process may run
    std::uint64_t seed = 0;
};

struct Verdict {
    bool passed = false;
    double error = 0;  ///< largest |result - reference| / sum of the terms' magnitudes
    double tolerance = 0;
    std::string reason;  ///< when not passed
};

struct Sample {
    double us = 0;  ///< per launch
    int launches = 0;
};

/// Keeps the data of one problem (inputs, result, workspace, expected values) until a request names another one:
/// per case 2 inputs and C, one D, 16 bytes per element of D and case for the reference (docs/gemm.md, "Memory").
class Bench {
  public:
    Bench();
    ~Bench();

    using OnVerdict = std::function<void(const BenchSolution&, const Verdict&)>;
    using OnSample = std::function<void(const BenchSolution&, const Sample&)>;

    /// Runs each solution of `order` on every case and compares with the reference. False with the failure.
    bool validate(const BenchRequest& request, const OnVerdict& on_verdict, Failure* failure);
    /// One sample per entry of `order`, `repeats` times over.
    bool time(const BenchRequest& request, const OnSample& on_sample, Failure* failure);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Rounding errors of K-term sums grow like sqrt(K) (Higham and Mary, 2019); four times that is never reached by a
/// correct kernel and always passed by one that drops a term of typical size.
double tolerance(DataType type, std::int64_t k);

}  // namespace tunefarm::gemm
