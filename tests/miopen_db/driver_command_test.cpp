// SPDX-License-Identifier: MIT
#include "storage/miopen/driver_command.h"

#include <algorithm>

#include "storage/miopen/problem_list.h"
#include "tests/miopen_db/fixtures.h"

namespace tunefarm::miopen {
namespace {

/// The names of a line's problems, or what is wrong with it.
std::string names(std::string_view line) {
    const Result<DriverLine> parsed = parse_driver_line(line);
    if (!parsed.ok()) return "error: " + parsed.error().message;
    if (parsed->kind == DriverLine::Kind::kNothing) return "nothing";
    if (parsed->kind == DriverLine::Kind::kUnsupported) return "unsupported " + parsed->base;
    std::string text;
    for (const Problem& problem : parsed->problems) text += (text.empty() ? "" : " ") + name_of(problem);
    return text;
}

bool is_error(std::string_view line, std::string_view part) {
    const std::string text = names(line);
    return text.starts_with("error: ") && text.find(part) != std::string::npos;
}

const std::string kSizes =
    "-n 128 -c 1024 -H 14 -W 14 -k 2048 -y 1 -x 1 -p 0 -q 0 -u 2 -v 2 -l 1 -j 1 -m conv -g 1 -t 1";

TEST(MiopenDriver, AConvolutionIsOneProblemForEachDirection) {
    const std::string forward = "1024-14-14-1x1-2048-7-7-128-0x0-2x2-1x1-0-NCHW-FP32-F";
    const std::string backward = "2048-7-7-1x1-1024-14-14-128-0x0-2x2-1x1-0-NCHW-FP32-B";
    const std::string weights = "2048-7-7-1x1-1024-14-14-128-0x0-2x2-1x1-0-NCHW-FP32-W";
    EXPECT_EQ(names("./bin/MIOpenDriver conv " + kSizes + " -F 2"), backward);
    EXPECT_EQ(names("conv " + kSizes + " -F 5"), forward + " " + weights);
    EXPECT_EQ(names(kSizes), forward + " " + backward + " " + weights);
}

TEST(MiopenDriver, ALineOfTheLibrarysLogIsItsCommand) {
    EXPECT_EQ(names("MIOpen(HIP): Command [LogCmdFindConvolution] ./bin/MIOpenDriver convfp16 " + kSizes + " -F 1"),
              "1024-14-14-1x1-2048-7-7-128-0x0-2x2-1x1-0-NCHW-FP16-F");
    EXPECT_EQ(names("MIOpen(HIP): Info [get_device_name] Raw device name: gfx942"), "nothing");
    EXPECT_EQ(names(""), "nothing");
    EXPECT_EQ(names("  # conv -n 1"), "nothing");
    EXPECT_EQ(names("/opt/rocm/bin/MIOpenDriver CBAInfer -F 1"), "unsupported CBAInfer");
}

TEST(MiopenDriver, LongFlagsRepeatedFlagsAndBackquotes) {
    EXPECT_EQ(
        names("MIOpenDriver conv --batchsize 2 --in_channels 8 --in_h 9 --in_h 10 --in_w 10 --out_channels 4 --fil_h 3 "
              "--fil_w 3 --pad_h 1 --pad_w 1 --forw 1```"),
        "8-10-10-3x3-4-10-10-2-1x1-1x1-1x1-0-NCHW-FP32-F");
}

TEST(MiopenDriver, TypesLayoutsGroupsAndCasts) {
    const std::string rest = " -n 2 -c 8 -H 10 -W 10 -k 4 -y 3 -x 3 -F 1";
    EXPECT_EQ(names("convbfp16" + rest), "8-10-10-3x3-4-8-8-2-0x0-1x1-1x1-0-NCHW-BF16-F");
    EXPECT_EQ(names("convint8" + rest), "8-10-10-3x3-4-8-8-2-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F");
    EXPECT_EQ(names("convbfp8" + rest + " -g 4"), "8-10-10-3x3-4-8-8-2-0x0-1x1-1x1-0-NCHW-BF8-F_g4");
    EXPECT_EQ(names("conv" + rest + " -I NHWC -f NHWC -O NHWC"),
              "8-10-10-3x3-4-8-8-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F");
    EXPECT_EQ(names("conv" + rest + " --in_layout NHWC"), "8-10-10-3x3-4-8-8-2-0x0-1x1-1x1-0-NHWC-NCHW-NCHW-FP32-F");
    EXPECT_EQ(names("convfp16 -n 2 -c 8 -H 10 -W 10 -k 4 -y 3 -x 3 -F 2 --in_layout NHWC -U fp8 -T bf8"),
              "4-8-8-3x3-8-10-10-2-0x0-1x1-1x1-0-NCHW-NCHW-NHWC-FP16-B_ciBF8_coFP8");
}

TEST(MiopenDriver, OneLayoutForAllTensorsWhereTheirSizesAllowIt) {
    // With one channel and without spatial extent all strides are 1, and the library says NCHW.
    EXPECT_EQ(names("conv -n 2 -c 1 -H 1 -W 1 -k 1 -y 1 -x 1 -F 1 -I NHWC -f NHWC -O NHWC"),
              "1-1-1-1x1-1-1-1-2-0x0-1x1-1x1-0-NCHW-FP32-F");
    EXPECT_EQ(names("conv -n 2 -c 8 -H 1 -W 1 -k 4 -y 1 -x 1 -F 1 -I NHWC -f NHWC -O NHWC"),
              "8-1-1-1x1-4-1-1-2-0x0-1x1-1x1-0-NHWC-NHWC-NHWC-FP32-F");
}

TEST(MiopenDriver, DepthOnlyWithThreeDimensions) {
    EXPECT_EQ(names("conv -n 2 -c 8 --in_d 5 -H 10 -W 10 -k 4 --fil_d 2 -y 3 -x 3 --pad_d 1 --conv_stride_d 2 "
                    "--spatial_dim 3 -F 1"),
              "8-5-10-10-2x3x3-4-3-8-8-2-1x0x0-2x1x1-1x1x1-0-NCDHW-FP32-F");
    EXPECT_EQ(names("conv -n 2 -c 8 --in_d 5 -H 10 -W 10 -k 4 --fil_d 2 -y 3 -x 3 -F 1"),
              "8-10-10-3x3-4-8-8-2-0x0-1x1-1x1-0-NCHW-FP32-F");
}

TEST(MiopenDriver, PadModesChangeThePads) {
    const std::string rest = " -n 2 -c 8 -H 11 -W 10 -k 4 -y 5 -x 3 -u 2 -v 2 -p 7 -q 7 -F 1";
    EXPECT_EQ(names("conv -z same" + rest), "8-11-10-5x3-4-6-4-2-2x0-2x2-1x1-0-NCHW-FP32-F");
    EXPECT_EQ(names("conv -z valid" + rest), "8-11-10-5x3-4-4-4-2-0x0-2x2-1x1-0-NCHW-FP32-F");
}

TEST(MiopenDriver, TransposedConvolutionsAreTheOtherDirection) {
    // y = 2 * (10 - 1) + 1 + 2 - 2 + 1 = 20.
    const std::string line = "conv -m trans -n 2 -c 8 -H 10 -W 10 -k 4 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -Y 1 -X 1 -F ";
    EXPECT_EQ(names(line + "1"), "8-10-10-3x3-4-20-20-2-1x1-2x2-1x1-0-NCHW-FP32-B");
    EXPECT_EQ(names(line + "2"), "4-20-20-3x3-8-10-10-2-1x1-2x2-1x1-0-NCHW-FP32-F");
    EXPECT_EQ(names(line + "4"), "8-10-10-3x3-4-20-20-2-1x1-2x2-1x1-0-NCHW-FP32-W");
}

TEST(MiopenDriver, BatchNormRunsOneDirection) {
    EXPECT_EQ(names("bnorm -n 32 -c 16 -H 14 -W 14 -m 1 --forw 0 -b 1 -r 1"),
              "bnorm -n 32 -c 16 -H 14 -W 14 -m 1 --forw 0 -b 1 -r 1 --layout NCHW");
    EXPECT_EQ(names("bnormfp16 -n 32 -c 16 -D 4 -H 14 -W 14 -F 2 -L ndhwc"),
              "bnormfp16 -n 32 -c 16 -D 4 -H 14 -W 14 -m 0 --forw 2 -b 0 --layout NDHWC");
    EXPECT_TRUE(names("bnorm -c 16").find("--forw 1 -b 0") != std::string::npos);
    EXPECT_TRUE(names("bnorm -c 16 -F 1 -b 1").find("--forw 1 -b 0") != std::string::npos);
}

TEST(MiopenDriver, PoolingInBothGenerationsOfFlags) {
    const std::string now = "pool --input 100x3x32x32,NCHW -y 2 -x 2 -p 0 -q 0 -v 2 -u 2 -m max -M 0 -F 1";
    EXPECT_EQ(names("pool -M 0 --input 100x3x32x32,3072x1024x32x1 -y 2 -x 2 -p 0 -q 0 -v 2 -u 2 -m max -F 1 -t 1"),
              now);
    EXPECT_EQ(names("pool -n 100 -c 3 -H 32 -W 32 -y 2 -x 2 -v 2 -u 2 -F 1"), now);
    EXPECT_TRUE(names("poolfp16 -W 4x3x5x32x32,NDHWC -m avg -F 1").find("--input 4x3x5x32x32,NDHWC -Z 3") !=
                std::string::npos);
    EXPECT_EQ(parse_driver_line("pool -F 0")->problems.size(), 2U);
}

TEST(MiopenDriver, WhatTheDriverAcceptsInSilenceIsRefused) {
    EXPECT_TRUE(is_error("conv -n", "has no value"));
    EXPECT_TRUE(is_error("conv -Q 1", "unknown flag '-Q'"));
    EXPECT_TRUE(is_error("conv -n 1 junk 2", "unknown flag 'junk'"));
    EXPECT_TRUE(is_error("conv -n x", "--batchsize is 'x'"));
    EXPECT_TRUE(is_error("conv -n 0", "--batchsize is '0'"));
    EXPECT_TRUE(is_error("conv -n 1;reboot", "--batchsize is '1;reboot'"));
    EXPECT_TRUE(is_error("conv -g 3 -c 4 -k 6", "does not divide"));
    EXPECT_TRUE(is_error("conv -m sideways", "--mode"));
    EXPECT_TRUE(is_error("conv --in_layout NWHC", "no layout"));
    EXPECT_TRUE(is_error("conv -Z 1 -L 4", "vectorised"));
    EXPECT_TRUE(is_error("conv -U fp4", "none of fp32"));
    EXPECT_TRUE(is_error("convint8 -F 2", "forward only"));
    EXPECT_TRUE(is_error("conv -n 1000000000 -H 1000000000 -W 1000000000", "2^48"));
    EXPECT_TRUE(is_error("conv -_ 4", "--spatial_dim"));
    EXPECT_TRUE(is_error("pool --input 1x2", "no tensor"));
    EXPECT_TRUE(is_error("bnorm -L CHWN", "--layout"));
    EXPECT_TRUE(is_error("MIOpenDriver", "without arguments"));
}

TEST(MiopenDriver, CommandsComeBack) {
    for (const char* line :
         {"convfp16 -n 2 -c 8 -H 11 -W 10 -k 4 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -g 2 --in_layout NHWC -U fp8 -R bf8 -T "
          "fp32",
          "conv -m trans -n 2 -c 8 -H 10 -W 10 -k 4 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -Y 1 -X 1",
          "conv -_ 3 -n 2 -c 8 -! 6 -H 10 -W 10 -k 4 -@ 3 -y 3 -x 3 -# 2 -I NDHWC",
          "bnormbfp16 -D 3 -m 1 -s 1 -r 1 -L NDHWC",
          "poolfp16 -W 4x3x5x32x32,NDHWC -m avg_in -z same -I miopenIndexUint32", "pool -M 1 -F 1"}) {
        const Result<DriverLine> parsed = parse_driver_line(line);
        ASSERT_TRUE(parsed.ok()) << parsed.error().message;
        for (const Problem& problem : parsed->problems) {
            const auto command = to_driver_command(problem);
            ASSERT_TRUE(command.has_value());
            const Result<DriverLine> again = parse_driver_line(*command);
            ASSERT_TRUE(again.ok()) << *command << ": " << again.error().message;
            EXPECT_NE(std::ranges::find(again->problems, problem), again->problems.end()) << *command;
        }
    }
    const auto mixed = parse_find_key("8-10-10-3x3-4-8-8-2-0x0-1x1-1x1-0-NCHW-INT8INT8FP32-F");
    EXPECT_EQ(to_driver_command(*mixed), std::nullopt);
    EXPECT_EQ(names(to_find_key(*mixed)), to_find_key(*mixed));
    // (10 - 3) / 2 + 1 is 4: no command leads to 5.
    const auto other_padding = parse_find_key("128-10-10-3x3-256-5-5-100-0x0-2x2-1x1-0-NCHW-BF16-F");
    EXPECT_EQ(to_driver_command(*other_padding), std::nullopt);
}

TEST(MiopenProblemList, DuplicatesAreCountedAndPlacesKept) {
    ProblemList list;
    list.add_commands("a.txt",
                      "# list\nconv " + kSizes + " -F 1\n\nbnorm -c 3\nconv -n nothing\nhello there\nlrn -n 1\n");
    list.add_commands(
        "b.txt", "MIOpen(HIP): Info hello\nMIOpen(HIP): Command [X] ./bin/MIOpenDriver conv " + kSizes + " -F 3\n");
    const std::vector<ListedProblem> problems = list.finish();
    ASSERT_EQ(problems.size(), 3U);
    EXPECT_EQ(problems[0].count, 2);
    EXPECT_EQ(problems[0].file + ":" + std::to_string(problems[0].line), "a.txt:2");
    EXPECT_EQ(problems[1].count, 1);
    EXPECT_EQ(problems[2].problem.index(), 1U);
    EXPECT_EQ(list.unsupported, 1);
    EXPECT_EQ(list.issues.errors(), 1);
    EXPECT_TRUE(to_lines(list.issues).starts_with("a.txt:5: error: conv: --batchsize")) << to_lines(list.issues);
    EXPECT_EQ(list.issues.warnings(), 2);  // a.txt:6 and a.txt:7; the log may say what it likes
}

TEST(MiopenProblemList, PerfKeysAreCompletedUnlessAnotherSourceSaysMore) {
    ProblemList list;
    const std::string other = "2x128x14x14x1x3x3x1x64x16x1x1x0x2x2x0x1x1x0x0x1xNHWCxFP16xB";
    list.add_database(parse_text(DbKind::kFind, "f", std::string(kFindKey) + "=A:1,0,x\n"));
    list.add_database(parse_text(DbKind::kPerf, "p",
                                 std::string(kPerfKey) + "=A:1\n" + other + "=A:1\n" +
                                     "2x1024x-5x-5x1x7x7x1x256x400x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xB=A:1\n"));
    const std::vector<ListedProblem> problems = list.finish();
    ASSERT_EQ(problems.size(), 2U);
    // The smallest input whose output is 14: 2 * 13 + 3 - 2 = 27.
    EXPECT_EQ(name_of(problems[0].problem), "128-14-14-3x3-64-27-27-16-1x1-2x2-1x1-0-NHWC-NHWC-NHWC-FP16-B");
    EXPECT_TRUE(problems[0].inferred);
    EXPECT_EQ(to_perf_key(std::get<ConvProblem>(problems[0].problem)), other);
    EXPECT_EQ(name_of(problems[1].problem), kFindKey);
    EXPECT_FALSE(problems[1].inferred);
    EXPECT_EQ(list.issues.warnings(), 1);
}

}  // namespace
}  // namespace tunefarm::miopen
