// SPDX-License-Identifier: MIT
// `tunefarm kdb`: kernel databases as manifests (docs/kernel-manifest.md).
#pragma once

#include <functional>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's name
class App;
}

namespace tunefarm::cli {

/// Adds the command; parsing it stores what to run in `chosen`.
void add_kdb(CLI::App& app, std::function<int()>& chosen);

struct KdbManifestOptions {
    std::string input;
    std::string output;
    std::string library = "unknown";
    std::string license = "MIT";
};
int kdb_manifest(const KdbManifestOptions& options);

struct KdbBuildOptions {
    std::string manifest;
    std::string source;    ///< a tree of MIOpen
    std::string arch;      ///< must be the manifest's
    std::string features;  ///< ":xnack-": added to arch for the compiler, not in the argument strings
    std::string output;
    std::string cache;     ///< directory; empty: OUTPUT.build
    std::size_t jobs = 0;  ///< 0: the CPUs that this process may use
};
/// 1 when some kernel failed; the others are written.
int kdb_build(const KdbBuildOptions& options);

/// Names and arguments, sorted, of a kernel-db or a manifest.
int kdb_list(const std::string& path);

}  // namespace tunefarm::cli
