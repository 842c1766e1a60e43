// SPDX-License-Identifier: MIT
// Small databases in the documented formats, and a directory for each test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "storage/miopen/kernel_db.h"
#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

/// A new directory, removed at the end.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    /// The path of a file in it.
    std::string path(std::string_view name) const;
    std::string write(std::string_view name, std::string_view content) const;
    std::vector<std::string> names() const;

  private:
    std::string path_;
};

std::string content_of(const std::string& path);

/// "FILE:LINE: error: …" of each issue, one a line.
std::string to_lines(const Issues& issues);

/// A find-db key and the perf-db key of the same problem.
inline constexpr const char* kFindKey = "64-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F";
inline constexpr const char* kPerfKey = "2x64x28x28x1x3x3x1x128x16x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF";

/// A row whose blob, size and MD5 fit each other.
KernelRow kernel_row(std::string name, std::string args, std::string object);

/// A find-db of `keys` keys with four items each, as large as real ones: about 300 bytes a key.
std::string large_find_db(int keys);

}  // namespace tunefarm::miopen
