// SPDX-License-Identifier: MIT
// The kernel sources of a MIOpen tree, by file name: what a manifest's template names.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace tunefarm::cli {

/// A source and what it includes, as bytes: what is compiled is what was digested, whatever happens to the tree later.
struct SourceClosure {
    Digest source;                                           ///< SHA-256 of the source file
    Digest closure;                                          ///< of all names and contents
    std::vector<std::pair<std::string, std::string>> files;  ///< name, content; the source first, then by name
};

/// Not thread-safe.
class KernelSources {
  public:
    /// Lists `tree`/src/kernels; symbolic links are not followed. kInput when it is no MIOpen tree.
    static Result<KernelSources> open(const std::string& tree);
    /// kInput, naming the file: missing, there twice with different contents, an .include of something that is no plain
    /// name, or an .incbin (its bytes would not be part of the digest).
    Result<SourceClosure> closure(const std::string& name) const;

  private:
    Status collect(const std::string& name, std::map<std::string, std::string>& files) const;
    std::string tree_;
    std::map<std::string, std::vector<std::string>> paths_;  ///< by file name
};

}  // namespace tunefarm::cli
