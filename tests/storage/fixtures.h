// SPDX-License-Identifier: MIT
// What the storage tests share: a temporary directory, one small farm as records, and a text of all tables.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "storage/database.h"
#include "storage/records.h"
#include "storage/writer.h"

namespace tunefarm::storage::test {

class TemporaryDirectory {
  public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// A digest that is easy to recognise: all bytes are `byte`.
Digest digest_of(std::uint8_t byte);

/// Wall clock of the small farm: its campaign was created at second 1000.
Instant second(double s);

/// One campaign, one config, two steps: step 1 (x86-64-v3) measured, with a winner, a tie, a failed validation and a
/// solution without conclusion; step 2 (gfx950) built, with one kernel that failed. One host with two slots.
std::vector<Record> small_farm();

/// Commits `records` to a database at `path` and closes it.
void write(const std::string& path, std::vector<Record> records);

/// Every row of every table, in a fixed order.
std::string dump(const std::string& path);

/// EXPECT_OK with the error's words.
#define EXPECT_OK(expr)                                             \
    do {                                                            \
        const auto& expect_ok_ = (expr);                            \
        EXPECT_TRUE(expect_ok_.ok()) << expect_ok_.error().message; \
    } while (false)
#define ASSERT_OK(expr)                                             \
    do {                                                            \
        const auto& assert_ok_ = (expr);                            \
        ASSERT_TRUE(assert_ok_.ok()) << assert_ok_.error().message; \
    } while (false)

}  // namespace tunefarm::storage::test
