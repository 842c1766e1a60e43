// SPDX-License-Identifier: MIT
// Any bytes as a kernel manifest: refused, or written again as they are and expanded without an option that is refused.
// Run: fuzz_miopen_manifest -max_len=1024 <a folder of manifests>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/miopen/manifest.h"

namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tunefarm;
    using namespace tunefarm::miopen;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto manifest = parse_manifest("fuzz", text);
    if (!manifest.ok()) return 0;
    require(to_text(*manifest) == text);
    (void)for_each_argument(*manifest, [&](const std::string& name, const std::string& args) -> Status {
        require(name.find('/') == std::string::npos && name.ends_with(".o"));
        std::string_view rest = args;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find(' '), rest.size());
            require(refused_option(rest.substr(0, end)) == nullptr);
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return {};
    });
    return 0;
}
