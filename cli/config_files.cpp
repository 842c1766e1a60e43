// SPDX-License-Identifier: MIT
#include "cli/config_files.h"

#include "base/files.h"
#include "coordinator/plan/normalised.h"

namespace tunefarm::cli {

namespace {

constexpr std::int64_t kMaxConfig = 64LL << 20;

}  // namespace

Result<server::CampaignRequest> read_configs(const std::vector<std::string>& paths, const std::string& name) {
    server::CampaignRequest request;
    for (const std::string& path : paths) {
        TUNEFARM_ASSIGN(std::string bytes, read_file(path, kMaxConfig));
        TUNEFARM_ASSIGN(plan::Config config, plan::parse_config(bytes, path));
        std::string normalised = plan::normalised_json(config);
        request.configs.push_back({std::move(config), std::move(normalised), std::move(bytes)});
    }
    request.name = name;
    if (!name.empty()) return request;
    const std::string& first = paths.front();
    request.name = first.substr(first.rfind('/') + 1);
    if (paths.size() > 1) request.name += " and " + std::to_string(paths.size() - 1) + " more";
    return request;
}

}  // namespace tunefarm::cli
