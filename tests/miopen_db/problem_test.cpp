// SPDX-License-Identifier: MIT
#include "storage/miopen/problem.h"

#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

TEST(MiopenProblem, FindKeysComeBackByteForByte) {
    for (const char* key : {
             kFindKey,
             "2048-7-7-1x1-1024-14-14-128-0x0-2x2-1x1-0-NCHW-FP32-B",
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-BF16-W",
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-NHWC-CHWN-FP16-F_g32",
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP16-F_g2_ciFP8_cwBF8_coFP32",
             "64-4-28-28-3x3x3-128-2-28-28-16-1x1x1-2x1x1-1x1x1-0-NCDHW-FP32-F",
             "64-4-28-28-3x3x3-128-2-28-28-16-1x1x1-2x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-B_g4",
         }) {
        const Result<ConvProblem> problem = parse_find_key(key);
        ASSERT_TRUE(problem.ok()) << problem.error().message;
        EXPECT_EQ(to_find_key(*problem), key);
    }
}

TEST(MiopenProblem, SeventeenPartsAreTwoOrThreeDimensionalByTheFilter) {
    const auto flat = parse_find_key("64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NHWC-NHWC-NHWC-FP16-F");
    const auto deep = parse_find_key("64-4-28-28-3x3x3-128-2-28-28-16-1x1x1-2x1x1-1x1x1-0-NCDHW-FP32-F");
    ASSERT_TRUE(flat.ok() && deep.ok());
    EXPECT_EQ(flat->spatial_dims, 2);
    EXPECT_EQ(flat->out_layout, "NHWC");
    EXPECT_EQ(deep->spatial_dims, 3);
    EXPECT_EQ(deep->in, (Extent{4, 28, 28}));
    EXPECT_EQ(deep->stride, (Extent{2, 1, 1}));
}

TEST(MiopenProblem, AFindKeyGivesItsPerfKey) {
    const auto problem = parse_find_key(kFindKey);
    ASSERT_TRUE(problem.ok());
    EXPECT_EQ(to_perf_key(*problem), kPerfKey);
    const auto grouped =
        parse_find_key("64-4-28-30-3x3x5-128-2-28-28-16-1x1x1-2x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-FP16-B_g4");
    ASSERT_TRUE(grouped.ok());
    EXPECT_EQ(to_perf_key(*grouped), "3x64x28x30x4x3x5x3x128x16x1x1x1x1x1x2x1x1x1x0x4xNDHWCxFP16xB");
}

TEST(MiopenProblem, PerfKeysComeBackAndSayWhatTheyLack) {
    const auto problem = parse_perf_key(kPerfKey);
    ASSERT_TRUE(problem.ok()) << problem.error().message;
    EXPECT_EQ(to_perf_key(*problem), kPerfKey);
    EXPECT_FALSE(problem->complete());
    EXPECT_TRUE(parse_find_key(kFindKey)->complete());
}

TEST(MiopenProblem, NegativeSizesOfShippedPerfKeysComeBack) {
    const char* key = "2x1024x-5x-5x1x7x7x1x256x400x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xB";
    const auto problem = parse_perf_key(key);
    ASSERT_TRUE(problem.ok()) << problem.error().message;
    EXPECT_EQ(problem->in.h, -5);
    EXPECT_EQ(to_perf_key(*problem), key);
    EXPECT_FALSE(parse_perf_key("2x1024x-0x-5x1x7x7x1x256x400x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xB").ok());
}

TEST(MiopenProblem, SpellingsThatWouldNotComeBackAreRefused) {
    for (const char* key : {
             "", "=", "64", "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32",
             "064-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F",                  // leading zero
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-NCHW-NCHW-FP32-F",         // default layout three times
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NHWC-FP32-F",                   // another one only once
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32FP32FP32-F",           // equal types three times
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32FP16-F",               // two types
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP31-F",                   // no type
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-X",                   // no direction
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F_g1",                // a group count of 1
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F_coFP8_ciFP8",       // order of options
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F_z3",                // no option
             "64-28-28-3x3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F",                 // 3D filter in 2D
             "64-28-28-3x3-128-28-28-16-1x1-1x-1-1x1-0-NCHW-FP32-F",                  // negative
             "64-28-28-3x3-128-28-28-9999999999999999999-1x1-1x1-1x1-0-NCHW-FP32-F",  // overflow
             "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NNHW-FP32-F",                   // no layout
         }) {
        const auto problem = parse_find_key(key);
        EXPECT_FALSE(problem.ok()) << key;
        if (!problem.ok()) {
            EXPECT_EQ(problem.error().kind, ErrorKind::kInput);
        }
    }
    EXPECT_FALSE(parse_perf_key("2x64x28x28x1x3x3x1x128x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32").ok());
    EXPECT_FALSE(parse_perf_key("4x64x28x28x1x3x3x1x128x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF").ok());
    EXPECT_FALSE(parse_perf_key("2x64x28x28x1x3x3x1x128x16x1x1x0x1x1x0x1x1x0x0x01xNCHWxFP32xF").ok());
}

}  // namespace
}  // namespace tunefarm::miopen
