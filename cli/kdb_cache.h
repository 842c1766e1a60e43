// SPDX-License-Identifier: MIT
// Kernel objects that were built before: finished build actions of a tunefarm.db and their artifacts, in the layout of
// every other tunefarm directory.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/digest.h"
#include "base/result.h"
#include "base/types.h"
#include "storage/artifact_store.h"
#include "storage/writer.h"

namespace tunefarm::cli {

/// Thread-safe. Only one process has a directory open at a time. What put() returned from is found again after a kill.
class KernelCache {
  public:
    static Result<std::unique_ptr<KernelCache>> open(const std::string& directory);
    /// nullopt: never built, or its bytes are damaged; then it is built again.
    Result<std::optional<std::string>> get(const Digest& key);
    Status put(const Digest& key, const std::string& target, const Digest& fingerprint, const std::string& description,
               const std::string& object);
    Status flush() { return writer_->flush(); }

  private:
    KernelCache() = default;
    std::unique_ptr<storage::Writer> writer_;
    std::unique_ptr<storage::ArtifactStore> store_;
    std::mutex mutex_;
    struct Known {
        ActionId action;
        Digest object;
    };
    std::map<Digest, Known> known_;  ///< by action key
    std::int64_t last_action_ = 0;
};

}  // namespace tunefarm::cli
