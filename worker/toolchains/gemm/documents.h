// SPDX-License-Identifier: MIT
// The JSON documents of a step: what split answers, the step document, a kernel's args, the manifest and the result
// files. docs/drivers.md has the shapes, docs/gemm.md what gemm adds. Pure, but for the callbacks.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "worker/toolchains/gemm/config.h"
#include "worker/toolchains/gemm/measure.h"

namespace tunefarm::gemm {

/// The result of `split`.
nlohmann::ordered_json split_result(const std::vector<Unit>& units);

struct Prepared {
    std::string document;  ///< the step document, JSON text
    std::string helper;    ///< the helper's source
    std::uint64_t permutations = 0;
    std::uint64_t rejected = 0;
    std::uint64_t duplicates = 0;  ///< equal to an earlier one once resolved for the target
    std::size_t kernels = 0;
};

/// Enumerates a unit for a target, dropping invalid points and duplicates. `progress` may be empty.
bool prepare_step(const Unit& unit, const Target& target,
                  const std::function<void(std::uint64_t done, std::uint64_t total)>& progress, Prepared* prepared,
                  Failure* failure);

/// A kernel's `args` and back. Reading fails on anything that prepare would not have written.
nlohmann::ordered_json kernel_args(const ProblemType& type, const Point& point, const Target& target);
bool read_kernel_args(const nlohmann::ordered_json& args, const Target& target, ProblemType* type, Point* point,
                      Failure* failure);

/// The manifest of a bundle: the solutions of `step` whose kernel is in `built` (kernel names).
bool make_manifest(const nlohmann::ordered_json& step, const std::vector<std::string>& built, const Target& target,
                   std::string* manifest, Failure* failure);

/// The part of a measurement that comes from the manifest and the request's args.
bool read_measure_request(const nlohmann::ordered_json& manifest, const nlohmann::ordered_json& args,
                          BenchRequest* request, Failure* failure);

/// A result file: its name and content.
struct ResultFile {
    std::string name;
    std::string content;
};

/// `results` is null in build-only runs.
bool conclude_step(const nlohmann::ordered_json& step, const nlohmann::ordered_json& results,
                   std::vector<ResultFile>* files, Failure* failure);

}  // namespace tunefarm::gemm
