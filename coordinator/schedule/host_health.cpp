// SPDX-License-Identifier: MIT
#include "coordinator/schedule/host_health.h"

#include <algorithm>

namespace tunefarm::schedule {
namespace {

std::string seconds(Micros time) {
    return std::to_string(std::max<std::int64_t>(time.count(), 0) / 1'000'000) + " s";
}

}  // namespace

void HostHealth::change(Host& host, HostState state) {
    host.state = state;
    ++version_;
}

void HostHealth::quarantine(const std::string& name, Host& host, Instant now, const std::string& why) {
    const bool again = host.interval.count() > 0;
    host.interval = again ? std::min(2 * host.interval, options_.longest_probe) : options_.first_probe;
    change(host, HostState::kQuarantined);
    host.probe_at = now + host.interval;
    changes_.emplace_back(name, "quarantined: " + why + "; one task will be tried on it in " + seconds(host.interval));
}

void HostHealth::strike(const std::string& name, Instant now) {
    Host& host = hosts_[name];
    ++host.strikes;
    host.points += options_.strike;
    if (host.state != HostState::kTrusted || host.points < options_.limit) return;
    quarantine(name, host, now, std::to_string(host.strikes) + " actions failed on it and were done by other hosts");
}

void HostHealth::succeeded(const std::string& name) {
    const auto it = hosts_.find(name);
    if (it == hosts_.end()) return;
    Host& host = it->second;
    if (host.state == HostState::kTrusted) {
        host.points = std::max(0, host.points - options_.relief);
        return;
    }
    // What was under way when it was quarantined is no probe.
    if (host.state != HostState::kProbing) return;
    host = Host{};
    change(host, HostState::kTrusted);
    changes_.emplace_back(name, "trusted again: the task that was tried on it succeeded");
}

void HostHealth::failed(const std::string& name, Instant now) {
    const auto it = hosts_.find(name);
    if (it == hosts_.end() || it->second.state != HostState::kProbing) return;
    quarantine(name, it->second, now, "the task that was tried on it failed");
}

void HostHealth::lost(const std::string& name) {
    const auto it = hosts_.find(name);
    if (it != hosts_.end() && it->second.state == HostState::kProbing) change(it->second, HostState::kQuarantined);
}

void HostHealth::due(Instant now) {
    for (auto& [name, host] : hosts_) {
        if (host.state != HostState::kQuarantined || now < host.probe_at) continue;
        change(host, HostState::kProbing);
    }
}

HostState HostHealth::state(const std::string& name) const {
    const auto it = hosts_.find(name);
    return it == hosts_.end() ? HostState::kTrusted : it->second.state;
}

std::string HostHealth::explain(const std::string& name, Instant now) const {
    const auto it = hosts_.find(name);
    if (it == hosts_.end() || it->second.state == HostState::kTrusted) return "";
    const Host& host = it->second;
    const std::string why =
        "quarantined: " + std::to_string(host.strikes) + " actions failed on it and were done by other hosts; ";
    if (host.state == HostState::kProbing) return why + "one task is being tried on it";
    return why + "one task will be tried on it in " + seconds(host.probe_at - now);
}

}  // namespace tunefarm::schedule
