// SPDX-License-Identifier: MIT
// Control messages between plain values (messages.h) and one Cap'n Proto frame each (tunefarm.capnp). All functions are
// pure and thread-safe; none throws. Frames may start at any address.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "protocol/messages.h"

namespace tunefarm::protocol {

/// Texts for people (messages, reasons) are cut at kMaxReason and a log's beginning at kMaxLogTail. Everything else is
/// the sender's promise: what breaks limits.h is encoded all the same, and refused by the receiver. A sender of
/// content that it does not control (rows, results of drivers) checks with check_frame() first.
std::string encode(const FromWorker& message);
std::string encode(const FromCoordinator& message);

/// kCorruption: not a message, beyond a limit of limits.h, or an enumeration or number out of its range.
/// kUnsupported: a message, but of a newer version: an unknown union tag, another major version, or a newer minor one
/// in Hello or Welcome. The text says what to do; the coordinator sends it back in Refused.
Result<FromWorker> decode_from_worker(std::string_view frame);
Result<FromCoordinator> decode_from_coordinator(std::string_view frame);

/// Whether the worker's frame will be accepted: its size and all limits. The error is kInput.
Status check_frame(std::string_view from_worker);

}  // namespace tunefarm::protocol
