// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM as a flag that a command's loop looks at.
#pragma once

namespace tunefarm::cli {

/// From here on both signals only set the flag; a closed pipe and a file size limit are errors of the write.
void catch_stop_signals();
bool stop_requested();

}  // namespace tunefarm::cli
