// SPDX-License-Identifier: MIT
#include "storage/miopen/solvers.h"

#include <algorithm>
#include <array>

namespace tunefarm::miopen {

namespace {

// Each table is sorted by byte value, for a binary search.
constexpr std::array<std::string_view, 54> kTunable = {
    "ConvAsm1x1U",
    "ConvAsm1x1UV2",
    "ConvAsm3x3U",
    "ConvAsmBwdWrW1x1",
    "ConvAsmBwdWrW3x3",
    "ConvAsmImplicitGemmGTCDynamicBwdXdlopsNHWC",
    "ConvAsmImplicitGemmGTCDynamicFwdDlopsNCHWC",
    "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC",
    "ConvAsmImplicitGemmGTCDynamicWrwXdlopsNHWC",
    "ConvBinWinogradRxSf2x3",
    "ConvBinWinogradRxSf3x2",
    "ConvCkIgemmFwdV6r1DlopsNchw",
    "ConvHipImplicitGemm3DGroupBwdXdlops",
    "ConvHipImplicitGemm3DGroupFwdXdlops",
    "ConvHipImplicitGemm3DGroupWrwXdlops",
    "ConvHipImplicitGemmBwdDataV1R1",
    "ConvHipImplicitGemmBwdDataV1R1Xdlops",
    "ConvHipImplicitGemmBwdDataV4R1",
    "ConvHipImplicitGemmBwdDataV4R1Xdlops",
    "ConvHipImplicitGemmBwdXdlops",
    "ConvHipImplicitGemmF16F8F16BwdXdlops",
    "ConvHipImplicitGemmF16F8F16FwdXdlops",
    "ConvHipImplicitGemmF16F8F16WrwXdlops",
    "ConvHipImplicitGemmForwardV4R4Xdlops",
    "ConvHipImplicitGemmForwardV4R4Xdlops_Padded_Gemm",
    "ConvHipImplicitGemmForwardV4R5Xdlops",
    "ConvHipImplicitGemmFwdXdlops",
    "ConvHipImplicitGemmGroupBwdXdlops",
    "ConvHipImplicitGemmGroupFwdXdlops",
    "ConvHipImplicitGemmGroupWrwXdlops",
    "ConvHipImplicitGemmV4R1Fwd",
    "ConvHipImplicitGemmV4R1WrW",
    "ConvHipImplicitGemmV4R4Fwd",
    "ConvHipImplicitGemmV4R4WrW",
    "ConvHipImplicitGemmWrwV4R4Xdlops",
    "ConvHipImplicitGemmWrwV4R4Xdlops_Padded_Gemm",
    "ConvMPBidirectWinograd_xdlops<2-3>",
    "ConvMPBidirectWinograd_xdlops<3-3>",
    "ConvMPBidirectWinograd_xdlops<4-3>",
    "ConvMPBidirectWinograd_xdlops<5-3>",
    "ConvMPBidirectWinograd_xdlops<6-3>",
    "ConvMlirIgemmBwd",
    "ConvMlirIgemmBwdXdlops",
    "ConvMlirIgemmFwd",
    "ConvMlirIgemmFwdXdlops",
    "ConvMlirIgemmWrW",
    "ConvMlirIgemmWrWXdlops",
    "ConvOclBwdWrW2<16>",
    "ConvOclBwdWrW2<1>",
    "ConvOclBwdWrW2<2>",
    "ConvOclBwdWrW2<4>",
    "ConvOclBwdWrW2<8>",
    "ConvOclDirectFwd",
    "ConvOclDirectFwd1x1",
};

constexpr std::array<std::string_view, 50> kNotTunable = {
    "ConvAsm5x10u2v2b1",
    "ConvAsm5x10u2v2f1",
    "ConvAsm7x7c3h224w224k64u2v2p3q3f1",
    "ConvAsmImplicitGemmGTCDynamicBwdXdlops",
    "ConvAsmImplicitGemmGTCDynamicFwdXdlops",
    "ConvAsmImplicitGemmGTCDynamicWrwXdlops",
    "ConvAsmImplicitGemmV4R1DynamicBwd",
    "ConvAsmImplicitGemmV4R1DynamicFwd",
    "ConvAsmImplicitGemmV4R1DynamicFwd_1x1",
    "ConvAsmImplicitGemmV4R1DynamicWrw",
    "ConvBinWinograd3x3U",
    "ConvBinWinogradRxS",
    "ConvBinWinogradRxSf2x3g1",
    "ConvDirectNaiveConvBwd",
    "ConvDirectNaiveConvFwd",
    "ConvDirectNaiveConvWrw",
    "ConvMPBidirectWinograd<2-3>",
    "ConvMPBidirectWinograd<3-3>",
    "ConvMPBidirectWinograd<4-3>",
    "ConvMPBidirectWinograd<5-3>",
    "ConvMPBidirectWinograd<6-3>",
    "ConvOclBwdWrW1x1",
    "ConvOclBwdWrW2NonTunable",
    "ConvOclBwdWrW53",
    "ConvOclDirectFwd11x11",
    "ConvOclDirectFwdGen",
    "ConvWinoFuryRxS<2-3>",
    "ConvWinograd3x3MultipassWrW<1-1-7-2>",
    "ConvWinograd3x3MultipassWrW<1-1-7-3>",
    "ConvWinograd3x3MultipassWrW<3-2>",
    "ConvWinograd3x3MultipassWrW<3-3>",
    "ConvWinograd3x3MultipassWrW<3-4>",
    "ConvWinograd3x3MultipassWrW<3-5>",
    "ConvWinograd3x3MultipassWrW<3-6>",
    "ConvWinograd3x3MultipassWrW<5-3>",
    "ConvWinograd3x3MultipassWrW<5-4>",
    "ConvWinograd3x3MultipassWrW<7-2-1-1>",
    "ConvWinograd3x3MultipassWrW<7-2>",
    "ConvWinograd3x3MultipassWrW<7-3-1-1>",
    "ConvWinograd3x3MultipassWrW<7-3>",
    "GemmBwd1x1_stride1",
    "GemmBwd1x1_stride2",
    "GemmBwdRest",
    "GemmFwd1x1_0_1",
    "GemmFwd1x1_0_1_int8",
    "GemmFwd1x1_0_2",
    "GemmFwdRest",
    "GemmWrw1x1_stride1",
    "GemmWrwUniversal",
    "fft",
};

constexpr std::array<std::string_view, 10> kFused = {
    "BnBwdTrgActivationFused",      "BnFwdInferActivationFused",
    "BnFwdTrgActivationFused",      "ConvBiasActivAsm1x1U",
    "ConvBinWinogradRxSFused",      "ConvBinWinogradRxSf2x3g1Fused",
    "ConvCKIgemmFwdBiasActivFused", "ConvCKIgemmFwdBiasResAddActivFused",
    "ConvOclDirectFwdFused",        "ConvWinoFuryRxSFused<2-3>",
};

static_assert(std::ranges::is_sorted(kTunable) && std::ranges::is_sorted(kNotTunable) &&
              std::ranges::is_sorted(kFused));

struct Algorithms {
    std::string_view prefix;
    char direction;
    std::array<std::string_view, 5> names;
};
// There is no FFT for weight gradients, and one name of its own for transposed convolutions.
constexpr std::array<Algorithms, 4> kAlgorithms = {{
    {"miopenConvolutionFwdAlgo", 'F', {"GEMM", "Direct", "FFT", "Winograd", "ImplicitGEMM"}},
    {"miopenConvolutionBwdDataAlgo", 'B', {"GEMM", "Direct", "FFT", "Winograd", "ImplicitGEMM"}},
    {"miopenConvolutionBwdWeightsAlgo", 'W', {"GEMM", "Direct", "Winograd", "ImplicitGEMM", ""}},
    {"miopenTransposeBwdDataAlgo", 'B', {"GEMM", "", "", "", ""}},
}};

}  // namespace

std::optional<SolverKind> find_solver(std::string_view name) {
    if (std::ranges::binary_search(kTunable, name)) return SolverKind::kTunable;
    if (std::ranges::binary_search(kNotTunable, name)) return SolverKind::kNotTunable;
    if (std::ranges::binary_search(kFused, name)) return SolverKind::kFused;
    return std::nullopt;
}

std::optional<char> algorithm_direction(std::string_view name) {
    if (!name.starts_with("miopen")) return std::nullopt;
    for (const Algorithms& algorithms : kAlgorithms) {
        if (!name.starts_with(algorithms.prefix)) continue;
        const std::string_view rest = name.substr(algorithms.prefix.size());
        if (!rest.empty() && std::ranges::find(algorithms.names, rest) != algorithms.names.end()) {
            return algorithms.direction;
        }
    }
    return std::nullopt;
}

}  // namespace tunefarm::miopen
