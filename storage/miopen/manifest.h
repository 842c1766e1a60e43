// SPDX-License-Identifier: MIT
// A kernel manifest (MKM1, docs/kernel-manifest.md): the names and argument strings of a kernel-db as sorted, diffable
// text. Kernels of one source file that have the same options in the same order are one template; its rows hold the
// values, and a value that all rows share, or that is a product of others, is said once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "storage/database.h"

namespace tunefarm::miopen {

/// name = factor * factor …; a factor is a number or the name of a constant, a column or an earlier derivation.
struct Derivation {
    std::string name;
    std::vector<std::string> factors;
    bool operator==(const Derivation&) const = default;
};

struct KernelTemplate {
    std::string kernel;              ///< source file: "conv1x1u.s"; kernel_name is this and ".o"
    std::string origin = "unknown";  ///< "source", "generated" (by a program, from another form) or "unknown"
    std::string sha256 = "unknown";  ///< of the source file
    std::string args;                ///< kernel_args with a {name} for each value
    std::vector<std::pair<std::string, std::string>> constants;  ///< by name
    std::vector<Derivation> derivations;                         ///< each after those that it uses
    std::vector<std::string> columns;
    std::vector<std::vector<std::string>> rows;  ///< a value for each column; sorted, without duplicates
    bool operator==(const KernelTemplate&) const = default;
};

struct Manifest {
    std::string license = "MIT";            ///< SPDX expression for the file
    std::string library = "unknown";        ///< "MIOpen 3.3.0 2d1fd997"
    std::string arch;                       ///< the -mcpu of all kernels
    std::vector<KernelTemplate> templates;  ///< by kernel and args
    bool operator==(const Manifest&) const = default;
};

/// kInput, as "FILE:LINE: …", for anything that to_text would not write: an unknown version or line, a name with a
/// path, an option that is not on the list below, a quote or control character, rows out of order, a missing value.
Result<Manifest> parse_manifest(const std::string& file, std::string_view text);
std::string to_text(const Manifest& manifest);

/// nullopt, or why a word of an argument string may not be in a manifest: options that name files, programs or plug-ins
/// could make a compiler read or run what nobody meant.
const char* refused_option(std::string_view word);

/// Calls visit(kernel_name, kernel_args) for every kernel, sorted by both within a template. kInput for a product
/// beyond 64 bits or a factor that is no number.
Status for_each_argument(const Manifest& manifest,
                         const std::function<Status(const std::string& name, const std::string& args)>& visit);

/// The manifest of a kernel-db's rows. kInput with the row for one that no manifest may hold, or of another -mcpu.
Result<Manifest> make_manifest(storage::Database& kernels, const std::string& file);

}  // namespace tunefarm::miopen
