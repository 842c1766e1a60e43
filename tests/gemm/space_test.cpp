// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/space.h"

#include <gtest/gtest.h>

#include <set>

namespace tunefarm::gemm {
namespace {

Point with(std::initializer_list<std::pair<Parameter, int>> settings) {
    Point point = automatic_point();
    for (const auto& [which, value] : settings) point[which] = value;
    return point;
}

std::string reason(const Point& point, const char* target, ProblemType type = {}) {
    const Target& t = *find_target(target);
    return invalid_reason(resolve(point, type, t), type, t).value_or("valid");
}

TEST(Space, AutomaticPointsAreValidOnEveryTargetAndType) {
    for (const Target& target : targets()) {
        for (const DataType data : {DataType::kFloat, DataType::kDouble, DataType::kHalf}) {
            if (!target.offers(data)) continue;
            for (const bool transpose : {false, true}) {
                ProblemType type;
                type.type = data;
                type.transpose_a = transpose;
                EXPECT_EQ(reason(automatic_point(), target.name.c_str(), type), "valid")
                    << target.name << to_char(data);
            }
        }
    }
}

TEST(Space, RejectsWithAReasonThatNamesTheNumbers) {
    EXPECT_EQ(reason(with({{kVectorWidth, 8}, {kThreadTile0, 12}}), "x86-64-v4"),
              "VectorWidth 8 does not divide ThreadTile0 12");
    EXPECT_EQ(reason(with({{kMacroTile0, 100}, {kThreadTile0, 32}}), "x86-64-v4"),
              "ThreadTile0 32 does not divide MacroTile0 100");
    EXPECT_EQ(reason(with({{kVectorWidth, 16}}), "x86-64-v3"),
              "VectorWidth 16 needs vectors of 64 bytes; x86-64-v3 has 32");
    EXPECT_EQ(reason(with({{kVectorWidth, 16}, {kThreadTile0, 64}, {kThreadTile1, 8}}), "x86-64-v4"),
              "a tile of 64x8 at VectorWidth 16 needs 37 vector registers; x86-64-v4 has 32");
    EXPECT_EQ(reason(with({{kMacroTile0, 8}, {kThreadTile0, 8}}), "gfx950"),
              "the work group has 16 threads, which is not a multiple of the wavefront (64)");
    ProblemType transposed;
    transposed.transpose_a = true;
    EXPECT_EQ(reason(with({{kPackA, 0}}), "x86-64-v4", transposed),
              "PackA 0 reads columns of A as vectors: not with TransposeA");
}

TEST(Space, LdsLimitDiffersBetweenTheGpus) {
    const Point large =
        with({{kMacroTile0, 256}, {kMacroTile1, 256}, {kDepthU, 64}, {kThreadTile0, 16}, {kThreadTile1, 16}});
    EXPECT_NE(reason(large, "gfx942").find("bytes of LDS; gfx942 has 65536"), std::string::npos)
        << reason(large, "gfx942");
    EXPECT_EQ(reason(large, "gfx950"), "valid");
}

TEST(Space, ParametersWithoutAMeaningDoNotMakeAnotherPoint) {
    const Target& cpu = *find_target("x86-64-v3");
    const ProblemType type;
    EXPECT_EQ(resolve(with({{kPrefetchGlobalRead, 0}}), type, cpu),
              resolve(with({{kPrefetchGlobalRead, 1}}), type, cpu));
    const Target& gpu = *find_target("gfx942");
    EXPECT_EQ(resolve(with({{kPackA, 0}}), type, gpu), resolve(with({{kPackA, 1}}), type, gpu));
}

TEST(Space, NamesAreUniqueAndFitAFileName) {
    const Target& target = *find_target("x86-64-v4");
    std::set<std::string> names;
    for (int depth = 1; depth <= 64; ++depth) {
        const std::string name = kernel_name({}, resolve(with({{kDepthU, depth * 4}}), {}, target), target);
        EXPECT_LE(name.size(), 200U);
        EXPECT_EQ(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"),
                  std::string::npos);
        names.insert(name);
    }
    EXPECT_EQ(names.size(), 64U);
}

TEST(Space, ProblemTypesHaveTensileLitesNames) {
    ProblemType type;
    EXPECT_EQ(type.name(), "Cijk_Ailk_Bljk_S_B");
    type.transpose_a = type.transpose_b = true;
    type.type = DataType::kHalf;
    EXPECT_EQ(type.name(), "Cijk_Alik_Bjlk_HHS_BH");
    type.batched = false;
    type.type = DataType::kDouble;
    type.use_beta = false;
    EXPECT_EQ(type.name(), "Cij_Aki_Bjk_D");
}

TEST(Space, AllowedTextListsPowersOfTwo) {
    EXPECT_EQ(parameters()[kVectorWidth].allowed_text(), "-1 (automatic), 1, 2, 4, 8, 16");
    EXPECT_EQ(parameters()[kMacroTile0].allowed_text(), "-1 (automatic), 1 to 4096");
    EXPECT_EQ(parameters()[kPackA].allowed_text(), "-1 (automatic), 0, 1");
}

}  // namespace
}  // namespace tunefarm::gemm
