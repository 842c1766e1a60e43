// SPDX-License-Identifier: MIT
// Stored frames of the released schema, tests/protocol/golden/<name>.bin. To add one for a new message, run the test
// with TUNEFARM_WRITE_GOLDEN=1; an existing file is never rewritten, since peers of that version are out there.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/files.h"
#include "build_paths.h"

namespace tunefarm::protocol::golden {

inline std::string path_of(const std::string& name) {
    return std::string(TUNEFARM_SOURCE_DIR) + "/tests/protocol/golden/" + name + ".bin";
}

inline std::string load(const std::string& name, const std::string& frame) {
    const std::string path = path_of(name);
    if (std::getenv("TUNEFARM_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(path)) {
        std::ofstream(path, std::ios::binary) << frame;
    }
    auto content = read_file(path, 1 << 20);
    EXPECT_TRUE(content.ok()) << path;
    return content.ok() ? *content : std::string();
}

}  // namespace tunefarm::protocol::golden
