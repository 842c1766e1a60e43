// SPDX-License-Identifier: MIT
#include "cli/kdb_cache.h"

#include <cstring>
#include <utility>

#include "base/files.h"
#include "storage/database.h"

namespace tunefarm::cli {
namespace {

constexpr std::int64_t kLargestObject = 256 << 20;

std::optional<Digest> digest_of(std::string_view bytes) {
    Digest digest;
    if (bytes.size() != digest.bytes.size()) return std::nullopt;
    std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
    return digest;
}

}  // namespace

Result<std::unique_ptr<KernelCache>> KernelCache::open(const std::string& directory) {
    TUNEFARM_TRY(make_durable_directories(directory));
    std::unique_ptr<KernelCache> cache(new KernelCache());
    TUNEFARM_ASSIGN(cache->writer_, storage::Writer::open(directory + "/tunefarm.db"));
    TUNEFARM_ASSIGN(cache->store_, storage::ArtifactStore::open(directory + "/artifacts"));
    TUNEFARM_ASSIGN(storage::Database db, storage::Database::open_readonly(directory + "/tunefarm.db"));
    TUNEFARM_ASSIGN(cache->last_action_, db.query_integer("SELECT ifnull(max(id), 0) FROM action"));
    TUNEFARM_ASSIGN(storage::Statement select,
                    db.prepare("SELECT a.id, a.key, o.digest FROM action a JOIN action_output o ON o.action = a.id "
                               "WHERE a.toolchain = 'miopen' AND a.finished = 1 AND o.name = 'object'"));
    while (true) {
        TUNEFARM_ASSIGN(const bool row, select.step());
        if (!row) break;
        const auto key = digest_of(select.blob(1));
        const auto object = digest_of(select.blob(2));
        if (key && object) cache->known_[*key] = {ActionId(select.integer(0)), *object};
    }
    return cache;
}

Result<std::optional<std::string>> KernelCache::get(const Digest& key) {
    Digest object;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = known_.find(key);
        if (found == known_.end()) return std::optional<std::string>();
        object = found->second.object;
    }
    Result<std::string> bytes = store_->get(object, kLargestObject);
    if (bytes.ok()) return std::optional<std::string>(std::move(bytes).value());
    if (bytes.error().kind == ErrorKind::kNotFound || bytes.error().kind == ErrorKind::kCorruption)
        return std::optional<std::string>();
    return bytes.error();
}

Status KernelCache::put(const Digest& key, const std::string& target, const Digest& fingerprint,
                        const std::string& description, const std::string& object) {
    // The artifact is durable before a row names it.
    TUNEFARM_ASSIGN(const Digest digest, store_->put(object));
    storage::ActionRecord action;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = known_.find(key);
        action.id = found != known_.end() ? found->second.action : ActionId(++last_action_);
        known_[key] = {action.id, digest};
    }
    action.key = key;
    action.kind = TaskKind::kBuild;
    action.toolchain = "miopen";
    action.target = target;
    action.fingerprint = fingerprint;
    action.description = description;
    action.finished = true;
    action.cacheable = true;
    action.result = "{}";
    storage::ActionOutputRecord output;
    output.action = action.id;
    output.name = "object";
    output.digest = digest;
    output.size = static_cast<std::int64_t>(object.size());
    writer_->submit({action, output});
    return {};
}

}  // namespace tunefarm::cli
