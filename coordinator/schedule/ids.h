// SPDX-License-Identifier: MIT
#pragma once

#include "base/types.h"

namespace tunefarm::schedule {

/// A class of interchangeable work: kind × requirement signature (toolchain, target, fingerprint).
using ClassId = Id<struct ClassTag>;

}  // namespace tunefarm::schedule
