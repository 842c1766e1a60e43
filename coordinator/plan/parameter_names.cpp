// SPDX-License-Identifier: MIT
#include "coordinator/plan/parameter_names.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

namespace tunefarm::plan {
namespace {

using namespace std::string_view_literals;

constexpr std::array kTensileliteParameters{
    "1LDSBuffer"sv,
    "ActivationAlt"sv,
    "ActivationFuncCall"sv,
    "ActivationFused"sv,
    "AdaptiveGemm"sv,
    "AdaptiveGemmGSUA"sv,
    "AdaptiveGemmNTAB"sv,
    "AssertAIGreaterThanEqual"sv,
    "AssertAILessThanEqual"sv,
    "AssertFree0ElementMultiple"sv,
    "AssertFree1ElementMultiple"sv,
    "AssertSummationElementMultiple"sv,
    "BufferLoad"sv,
    "BufferStore"sv,
    "ClusterBarrier"sv,
    "ClusterDim"sv,
    "ClusterLocalRead"sv,
    "CompactLoopStore"sv,
    "ConvertAfterDS"sv,
    "CustomKernelName"sv,
    "DebugPersistentKernelLoopForever"sv,
    "DebugStreamK"sv,
    "DepthU"sv,
    "DirectToLds"sv,
    "DirectToLdsA"sv,
    "DirectToLdsB"sv,
    "DirectToLdsMetadata"sv,
    "DirectToVgprA"sv,
    "DirectToVgprB"sv,
    "DirectToVgprMXSA"sv,
    "DirectToVgprMXSB"sv,
    "DirectToVgprSparseMetadata"sv,
    "DtlPlusLdsBuf"sv,
    "ExpandPointerSwap"sv,
    "ExtraLatencyForLR"sv,
    "ExtraMiLatencyLeft"sv,
    "ForceDisableShadowInit"sv,
    "GlobalReadPerMfma"sv,
    "GlobalReadVectorWidthA"sv,
    "GlobalReadVectorWidthB"sv,
    "GlobalReadVectorWidthMetadata"sv,
    "GlobalSplitU"sv,
    "GlobalSplitUAlgorithm"sv,
    "GlobalSplitUCoalesced"sv,
    "GlobalSplitUWorkGroupMappingRoundRobin"sv,
    "GroupLoadStore"sv,
    "HalfPLR"sv,
    "ISA"sv,
    "InitCIterWmma"sv,
    "InnerUnroll"sv,
    "InterleaveAlpha"sv,
    "InternalSupportParams"sv,
    "KernelLanguage"sv,
    "LDSSegmentInterleave"sv,
    "LDSTrInst"sv,
    "LdsBlockSizePerPadA"sv,
    "LdsBlockSizePerPadB"sv,
    "LdsBlockSizePerPadMXSA"sv,
    "LdsBlockSizePerPadMXSB"sv,
    "LdsBlockSizePerPadMetadata"sv,
    "LdsPadA"sv,
    "LdsPadB"sv,
    "LdsPadMXSA"sv,
    "LdsPadMXSB"sv,
    "LdsPadMetadata"sv,
    "LocalReadVectorWidth"sv,
    "LocalReadVectorWidthA"sv,
    "LocalReadVectorWidthB"sv,
    "LocalWritePerMfma"sv,
    "MIArchVgpr"sv,
    "MXLoadInst"sv,
    "MXScaleFormat"sv,
    "MacroTile"sv,
    "MagicDivAlg"sv,
    "MatrixInstruction"sv,
    "MaxLDS"sv,
    "MaxOccupancy"sv,
    "MaxVgprNumber"sv,
    "MbskPrefetchMethod"sv,
    "MinGRIncPerMfma"sv,
    "MinVgprNumber"sv,
    "NoReject"sv,
    "NonTemporal"sv,
    "NonTemporalA"sv,
    "NonTemporalB"sv,
    "NonTemporalC"sv,
    "NonTemporalD"sv,
    "NonTemporalE"sv,
    "NonTemporalGate"sv,
    "NonTemporalMXSA"sv,
    "NonTemporalMXSB"sv,
    "NonTemporalMetadata"sv,
    "NonTemporalWS"sv,
    "NonVolatile"sv,
    "NonVolatileA"sv,
    "NonVolatileB"sv,
    "NonVolatileC"sv,
    "NonVolatileD"sv,
    "NonVolatileE"sv,
    "NonVolatileMXSA"sv,
    "NonVolatileMXSB"sv,
    "NonVolatileMetadata"sv,
    "NonVolatileWS"sv,
    "NumElementsPerBatchStore"sv,
    "NumLoadsCoalescedA"sv,
    "NumLoadsCoalescedB"sv,
    "OptNoLoadLoop"sv,
    "PrefetchAcrossPersistent"sv,
    "PrefetchGL2"sv,
    "PrefetchGlobalRead"sv,
    "PrefetchLocalRead"sv,
    "PreloadKernArgs"sv,
    "SFCWGM"sv,
    "ScheduleGROverBarrier"sv,
    "ScheduleGlobalRead"sv,
    "ScheduleIterAlg"sv,
    "ScheduleLocalWrite"sv,
    "SourceSwap"sv,
    "SpaceFillingAlgo"sv,
    "Sparse"sv,
    "StaggerU"sv,
    "StaggerUMapping"sv,
    "StaggerUStride"sv,
    "StorePriorityOpt"sv,
    "StoreRemapVectorWidth"sv,
    "StoreSyncOpt"sv,
    "StoreVectorWidth"sv,
    "StreamK"sv,
    "StreamKAtomic"sv,
    "StreamKFixupTreeReduction"sv,
    "StreamKForceDPOnly"sv,
    "StreamKWorkStealing"sv,
    "StreamKXCCMapping"sv,
    "SuppressNoLoadLoop"sv,
    "SwInstructionPrefetch"sv,
    "SwapGlobalReadOrder"sv,
    "TDMInst"sv,
    "TDMIterateMode"sv,
    "TDMLoadWaveSync"sv,
    "TDMPlusLdsBuf"sv,
    "TDMSplit"sv,
    "TailloopInNll"sv,
    "TemporalHint"sv,
    "TemporalHintA"sv,
    "TemporalHintB"sv,
    "TemporalHintC"sv,
    "TemporalHintD"sv,
    "TemporalHintE"sv,
    "TemporalHintMXSA"sv,
    "TemporalHintMXSB"sv,
    "TemporalHintMetadata"sv,
    "TemporalHintWS"sv,
    "ThreadTile"sv,
    "TransposeLDS"sv,
    "TransposeLDSMetadata"sv,
    "UnrollLoopSwapGlobalReadOrder"sv,
    "Use64bShadowLimit"sv,
    "Use64bShadowLimitMX"sv,
    "UseCustomMainLoopSchedule"sv,
    "UseDualFMAC"sv,
    "UseInstOffsetForGRO"sv,
    "UsePLRPack"sv,
    "UseSgprForGRO"sv,
    "UseSubtileImpl"sv,
    "VectorStore"sv,
    "VectorWidthA"sv,
    "VectorWidthB"sv,
    "WaveSeparateGlobalReadA"sv,
    "WaveSeparateGlobalReadB"sv,
    "WaveSeparateGlobalReadMetadata"sv,
    "WaveSplitK"sv,
    "WavefrontSize"sv,
    "WorkGroup"sv,
    "WorkGroupMapping"sv,
    "WorkGroupMappingXCC"sv,
    "WorkGroupMappingXCCGroup"sv,
    "WorkGroupReduction"sv,
};

constexpr std::size_t kListedNames = 16;

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Levenshtein distance that does not count case.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::span<const std::string_view> tensilelite_parameters() {
    return kTensileliteParameters;
}

std::string suggestion(std::string_view wrong, std::span<const std::string_view> allowed) {
    // Beyond this length no name is near, and the distance would take time.
    constexpr std::size_t kLongest = 64;
    std::string_view best;
    std::size_t best_distance = wrong.size() + kLongest;
    for (const std::string_view name : allowed) {
        if (wrong.size() > kLongest) break;
        if (const std::size_t here = distance(wrong, name); here < best_distance) {
            best = name;
            best_distance = here;
        }
    }
    std::string out;
    if (!best.empty()) {
        const bool near = best_distance <= std::max<std::size_t>(2, wrong.size() / 3);
        if (near) {
            out = "; did you mean " + std::string(best) + "?";
        } else if (allowed.size() > kListedNames) {
            out = "; the nearest allowed name is " + std::string(best);
        }
    }
    if (allowed.size() > kListedNames) return out;
    out += "; allowed: ";
    for (std::size_t i = 0; i < allowed.size(); ++i) {
        if (i > 0) out += ", ";
        out += allowed[i];
    }
    return out;
}

}  // namespace tunefarm::plan
