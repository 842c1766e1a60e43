// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/files.h"
#include "build_paths.h"
#include "coordinator/plan/config.h"

namespace tunefarm::plan {

inline std::string data_path(const std::string& name) {
    return TUNEFARM_SOURCE_DIR "/tests/plan/data/" + name;
}

inline std::string read_data(const std::string& name) {
    auto bytes = read_file(data_path(name), 1 << 20);
    EXPECT_TRUE(bytes.ok()) << bytes.error().message;
    return bytes.ok() ? *bytes : std::string();
}

inline Config must_load(const std::string& name) {
    auto config = load_config(data_path(name));
    EXPECT_TRUE(config.ok()) << config.error().message;
    return config.ok() ? *config : Config{};
}

/// A config of toolchain gemm with one step whose group is `body`, a YAML flow map.
inline Result<Config> one_step(const std::string& body, const std::string& top = "Toolchain: gemm") {
    return parse_config(top + "\nBenchmarkProblems: [[{DataType: S, Batched: True}, " + body + "]]\n", "test.yaml");
}

}  // namespace tunefarm::plan
