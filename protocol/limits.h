// SPDX-License-Identifier: MIT
// The bounds that a receiver enforces on each message of the control and artifact sockets. A frame that breaks one is
// refused as kCorruption. Why each exists: docs/protocol.md, "Limits".
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/messages.h"

namespace tunefarm::protocol {

/// Names, ids, endpoints, host names.
inline constexpr std::size_t kMaxName = 1024;
/// Reasons and messages for people. encode() cuts longer ones, so that a talkative driver cannot make a result
/// unsendable.
inline constexpr std::size_t kMaxReason = 16U << 10;
/// One JSON object: an item's args, a device's facts, an attempt's result. Larger content travels as an artifact.
inline constexpr std::size_t kMaxJson = 768U << 10;
/// One row of a measurement.
inline constexpr std::size_t kMaxRow = 64U << 10;

inline constexpr std::size_t kMaxCapabilities = 1024;
inline constexpr std::size_t kMaxDevices = 256;
inline constexpr std::size_t kMaxMissing = 1024;
/// Attempt keys in one message: running, acknowledged, cancelled.
inline constexpr std::size_t kMaxKeys = 16384;
inline constexpr std::size_t kMaxRows = 4096;
inline constexpr std::size_t kMaxItems = 256;
inline constexpr std::size_t kMaxInputs = 8192;
inline constexpr std::size_t kMaxOutputs = 8192;
inline constexpr std::size_t kMaxPhases = 256;
inline constexpr std::size_t kMaxIdleReasons = 64;
/// One submission.
inline constexpr std::size_t kMaxConfigs = 4096;
inline constexpr std::size_t kMaxTargets = 256;

/// Artifact socket: bytes of content in one chunk, digests in one FindMissing, one frame.
inline constexpr std::uint32_t kChunk = 512U << 10;
inline constexpr std::uint32_t kMaxChunk = 1U << 20;
inline constexpr std::size_t kMaxDigests = 8192;
inline constexpr std::size_t kMaxArtifactFrame = 2U << 20;
inline constexpr std::uint64_t kMaxArtifact = std::uint64_t{1} << 40;

}  // namespace tunefarm::protocol
