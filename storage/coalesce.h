// SPDX-License-Identifier: MIT
// Which records of one transaction need not be written, because a later one replaces them. Pure.
#pragma once

#include <vector>

#include "storage/records.h"

namespace tunefarm::storage {

/// `records` in the order in which one transaction would write them; true where a later record sets every column of the
/// same row. A tiny task is waiting, ready, running and done within one group commit: one row written instead of four.
/// Attempts with a log stay, since a later record without one keeps it.
std::vector<bool> superseded(const std::vector<const Record*>& records);

}  // namespace tunefarm::storage
