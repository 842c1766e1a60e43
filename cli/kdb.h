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

/// Names and arguments, sorted, of a kernel-db or a manifest.
int kdb_list(const std::string& path);

}  // namespace tunefarm::cli
