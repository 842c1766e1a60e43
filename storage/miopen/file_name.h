// SPDX-License-Identifier: MIT
// The names of MIOpen's database files. The name is a database's only identity: its files hold no version, no
// architecture and no CU count. (handle.hpp GetDbBasename, target_properties.cpp InitDbId, find_db.cpp,
// execution_context.hpp, binary_cache.cpp.)
//
//   what                   system                        user
//   find-db                BASE.HIP.fdb.txt              BASE.HIP.V.ufdb.txt
//   find-db of fusions     BASE.HIP.fusion.fdb.txt       BASE.HIP.V.fusion.ufdb.txt
//   perf-db, text          BASE.db.txt                   BASE.HIP.V.udb.txt
//   perf-db, SQLite        BASE.db                       BASE_1.1.0.udb
//   kernel-db              BASE.kdb or ID.kdb            BASE.ukdb
//
// batchnorm perf-dbs have "batchnorm_" in front. A ".bz2" at the end is how upstream's source tree keeps them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tunefarm::miopen {

/// ID + CU count. "gfx90a68" is gfx90a with 104 CUs: only the list of architectures tells ID from count.
struct BaseName {
    enum class Count : std::uint8_t {
        kNone,     ///< "gfx942": a kernel-db for every CU count
        kDecimal,  ///< "gfx1030_36": up to 64
        kHex,      ///< "gfx942130": from 65 on, without separator; newer libraries: any count of some RDNA parts
    };

    std::string arch;      ///< "gfx942"
    std::string features;  ///< "", "_nosramecc", "_xnack", …
    Count encoding = Count::kNone;
    std::uint32_t cu_count = 0;  ///< the number that is written; 0 with kNone

    bool operator==(const BaseName&) const = default;
    /// What MIOpen calls DbId: "gfx906_nosramecc".
    std::string id() const { return arch + features; }
};

/// nullopt: not a base name of an architecture that tunefarm knows.
std::optional<BaseName> parse_base_name(std::string_view text);
std::string to_string(const BaseName& base);

/// Every base name under which some library looks for the databases of `id` with `multiprocessors` (what
/// hipDeviceAttributeMultiprocessorCount says: CUs, on RDNA work-group processors). MIOpen of 2026 names some RDNA
/// parts by twice the count in hexadecimal, so these have two names.
std::vector<BaseName> base_names(std::string_view arch, std::string_view features, std::uint32_t multiprocessors);

enum class FileKind : std::uint8_t { kFindDb, kPerfText, kPerfSqlite, kKernelDb };
/// By the ending of a file's name alone ("any.db.txt.bz2"); nullopt: no ending of a database.
std::optional<FileKind> kind_by_ending(std::string_view name);
/// "find-db", "perf-db (text)", …
const char* to_string(FileKind kind);

struct FileName {
    FileKind kind = FileKind::kFindDb;
    bool user = false;
    bool fusion = false;      ///< find-dbs only
    bool batchnorm = false;   ///< perf-dbs only
    bool compressed = false;  ///< ends in ".bz2"
    BaseName base;
    std::string backend;  ///< "HIP"; empty where the name has none
    std::string version;  ///< of the library that wrote a user database: "3_3_0_2d1fd997"; empty where there is none

    bool operator==(const FileName&) const = default;
    /// The name of the system database that this one becomes, uncompressed. A user kernel-db becomes the one of its ID.
    FileName as_system() const;
};

/// nullopt: not the name of a MIOpen database. `name` has no directory part.
std::optional<FileName> parse_file_name(std::string_view name);
std::string to_string(const FileName& name);

}  // namespace tunefarm::miopen
