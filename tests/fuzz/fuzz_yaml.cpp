// SPDX-License-Identifier: MIT
// Any bytes as a config: it loads or is refused with a place, and what loads survives everything done with it.
// Run: fuzz_yaml -max_len=4096 <a folder of configs>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "coordinator/plan/config.h"
#include "coordinator/plan/normalised.h"
#include "coordinator/plan/permutations.h"
#include "coordinator/plan/report.h"

namespace {

using namespace tunefarm;
using namespace tunefarm::plan;

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const Result<Config> config = parse_config(bytes, "f");
    if (!config) {
        require(config.error().kind == ErrorKind::kInput);
        require(config.error().message.starts_with("f:"));
        return 0;
    }
    // JSON is YAML, so the normalised document is a config with the same meaning. YAML 1.1 reads some JSON numbers as
    // text (1e+30), so only configs that load again are compared.
    const std::string normal = normalised_json(*config);
    const Result<Config> again = parse_config(normal, "g");
    if (again) require(again->steps.size() == config->steps.size());
    for (const Step& step : config->steps) {
        const Permutations permutations(step);
        require(permutations.count() >= 1);
        require(!permutations.at(permutations.count() - 1).empty() || permutations.parameters().empty());
    }
    const std::vector<Unit> units = units_of(*config);
    const Result<std::vector<Unit>> back = parse_units(units_json(units));
    require(back.ok() && *back == units);
    require(!plan_text({{"f", config->toolchain, units}}, {}).empty());
    require(locate(*config, "BenchmarkProblems[0]").has_value());
    return 0;
}
