// SPDX-License-Identifier: MIT
// Kernel databases (kdb, ukdb): SQLite files of compiled code objects (kern_db.hpp of MIOpen). The library finds a row
// by an exact match of kernel_name ("conv1x1u.s.o") and kernel_args (the compile options and " -mcpu=<target>"),
// unpacks kernel_blob (bzip2, or raw with uncompressed_size 0) and compares its MD5 with kernel_hash.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/database.h"
#include "storage/miopen/tuning_db.h"

namespace tunefarm::miopen {

/// Lower-case hexadecimal MD5, by OpenSSL.
Result<std::string> md5_hex(std::string_view bytes);

struct KernelRow {
    std::int64_t id = 0;
    std::string name;
    std::string args;
    std::string blob;  ///< as stored
    std::string hash;
    std::int64_t uncompressed_size = 0;
};

/// The value of the last "-mcpu=" option, empty if there is none.
std::string_view mcpu_of(std::string_view args);

/// kInput when the table or a column that the library asks for is missing.
Status check_kernel_schema(storage::Database& db, const std::string& file);

/// Calls `visit` for every row, in the order of (name, args), until it returns an error. One row is in memory at a
/// time.
Status for_each_kernel(storage::Database& db, const std::string& file, const std::function<Status(KernelRow&)>& visit);

/// The code object of a row: unpacked, with size and MD5 as the library checks them. kCorruption otherwise.
Result<std::string> unpack_kernel(const KernelRow& row);

/// The reasons why the library will not find or accept the row; none for a good one. Unpacks the blob.
void check_kernel(const KernelRow& row, const std::string& file, Issues& issues);

/// The bytes of a system kernel-db: rows sorted, ids from 1 without gaps, 4096-byte pages, rollback journal.
class KernelDbWriter {
  public:
    static Result<KernelDbWriter> create();
    /// Rows come in the order of (name, args); kInput for one that is out of order or was there before.
    Status add(const KernelRow& row);
    Result<std::string> finish();

  private:
    KernelDbWriter(storage::Database db, storage::Statement insert);
    storage::Database db_;
    storage::Statement insert_;
    std::int64_t rows_ = 0;
    std::string last_;
};

}  // namespace tunefarm::miopen
