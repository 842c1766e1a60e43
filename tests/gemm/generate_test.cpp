// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/generate.h"

#include <gtest/gtest.h>

namespace tunefarm::gemm {
namespace {

TEST(Generate, SameArgumentsGiveSameBytes) {
    for (const Target& target : targets()) {
        const Point point = resolve(automatic_point(), {}, target);
        EXPECT_EQ(generate_kernel({}, point, target), generate_kernel({}, point, target));
        EXPECT_NE(generate_kernel({}, point, target).find(kernel_name({}, point, target)), std::string::npos);
    }
}

TEST(Generate, EveryParameterOfATargetChangesItsSource) {
    for (const Target& target : targets()) {
        const Point base = resolve(automatic_point(), {}, target);
        for (std::size_t i = 0; i < kParameters; ++i) {
            const ParameterInfo& info = parameters()[i];
            if (target.gpu ? !info.on_gpu : !info.on_cpu) continue;
            Point other = base;
            other[i] = info.high == 1 ? 1 - base[i] : base[i] * 2;
            if (other[i] == base[i]) other[i] = 1;
            std::string first = generate_kernel({}, base, target);
            std::string second = generate_kernel({}, other, target);
            // Beyond the name, which holds every parameter.
            const auto strip = [](std::string text) {
                const std::size_t at = text.find("#define SYMBOL");
                return text.erase(at, text.find('\n', at) - at);
            };
            EXPECT_NE(strip(first), strip(second)) << target.name << " " << info.name;
        }
    }
}

TEST(Generate, HelpersDifferByTypeAlone) {
    EXPECT_EQ(generate_helper(DataType::kFloat), generate_helper(DataType::kFloat));
    EXPECT_NE(generate_helper(DataType::kFloat), generate_helper(DataType::kDouble));
}

}  // namespace
}  // namespace tunefarm::gemm
