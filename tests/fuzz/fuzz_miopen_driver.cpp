// SPDX-License-Identifier: MIT
// Any bytes as a list of driver commands or a log: problems or issues, and each problem's command leads back to it.
// Run: fuzz_miopen_driver -max_len=1024 -only_ascii=1 <a folder of lists>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "storage/miopen/problem_list.h"

namespace {

using namespace tunefarm;
using namespace tunefarm::miopen;

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    ProblemList list;
    list.add_commands("fuzz", text);
    for (const ListedProblem& listed : list.finish()) {
        const std::string name = name_of(listed.problem);
        const auto command = to_driver_command(listed.problem);
        const auto again = parse_driver_line(command ? *command : name);
        require(again.ok());
        require(std::ranges::any_of(again->problems, [&](const Problem& problem) { return name_of(problem) == name; }));
    }
    if (const auto problem = parse_perf_key(text); problem.ok()) {
        if (const auto whole = completed(*problem)) {
            require(whole->complete());
            require(to_perf_key(*whole) == text);
        }
    }
    return 0;
}
