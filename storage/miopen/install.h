// SPDX-License-Identifier: MIT
// Puts databases where libMIOpen looks for system databases: DESTDIR/PREFIX/share/miopen/db.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/miopen/database_file.h"

namespace tunefarm::miopen {

struct InstallOptions {
    std::string destdir;  ///< in front of the prefix, as for `make install`; may be empty
    std::string prefix = "/usr";
    std::vector<std::string> archs;        ///< empty: those of the files
    std::vector<std::uint32_t> cu_counts;  ///< multiprocessors, as base_names; empty: those of the files
    bool drop_ignored = false;
};

struct InstalledFile {
    std::string name;    ///< "gfx942e4.db.txt"
    std::string source;  ///< path of the file it is made of
    /// The source was measured with another CU count: no file has this one, and MIOpen before mid-2026 looks for the
    /// exact name only.
    bool nearest = false;
    std::string bytes;
};

/// What would be installed, sorted by name: every file under its system name, in the form it has (text or SQLite), with
/// the content of convert.h. For each chosen count the file of that count, or of the nearest one. kInput for a file
/// that has no database's name, a chosen architecture without a file, or two files for one name.
Result<std::vector<InstalledFile>> plan_installation(std::vector<DatabaseFile>& files, const InstallOptions& options);

/// Writes all files of the plan or, when something fails, none: everything is written beside its place first, then
/// renamed; what was replaced before a failure is put back. Files that are not in the plan stay. Returns the directory.
Result<std::string> install(const std::vector<InstalledFile>& plan, const InstallOptions& options);

}  // namespace tunefarm::miopen
