// SPDX-License-Identifier: MIT
// Which hosts fail where others succeed. The evidence against a host is an action that failed on it and was then done
// by another host; an action that fails everywhere says nothing about hosts. A host with enough evidence gets no new
// work (quarantine) until a single task, its probe, succeeds on it. Pure: no clock, no I/O. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace tunefarm::schedule {

enum class HostState : std::uint8_t { kTrusted, kQuarantined, kProbing };

class HostHealth {
  public:
    /// Points: each strike adds, each success takes a little away, so that one strike in ten tasks is borne for ever
    /// and three in a row are not.
    struct Options {
        std::int32_t strike = 10;
        std::int32_t relief = 1;
        std::int32_t limit = 30;
        Micros first_probe{60'000'000};  ///< doubled after each probe that fails
        Micros longest_probe{3'600'000'000};
    };

    HostHealth() : HostHealth(Options{}) {}
    explicit HostHealth(Options options) : options_(options) {}

    /// An action that had failed on `host` was done by another one.
    void strike(const std::string& host, Instant now);
    /// An attempt on `host` succeeded, or failed: what ends a probe.
    void succeeded(const std::string& host);
    void failed(const std::string& host, Instant now);
    /// Its worker was lost: a probe under way says nothing.
    void lost(const std::string& host);
    /// Hosts whose time for a probe has come are probing from now on.
    void due(Instant now);

    HostState state(const std::string& host) const;
    /// Grows with every change of a state.
    std::uint64_t version() const { return version_; }
    /// For people, of a host that is not trusted: why, and when it is tried again.
    std::string explain(const std::string& host, Instant now) const;
    /// Hosts whose state changed since the last call, with a sentence for the log.
    std::vector<std::pair<std::string, std::string>> take_changes() { return std::exchange(changes_, {}); }

  private:
    struct Host {
        HostState state = HostState::kTrusted;
        std::int32_t points = 0;
        std::int32_t strikes = 0;
        Instant probe_at;
        Micros interval{0};
    };
    void change(Host& host, HostState state);
    void quarantine(const std::string& name, Host& host, Instant now, const std::string& why);

    Options options_;
    std::map<std::string, Host> hosts_;  ///< those with a failure
    std::vector<std::pair<std::string, std::string>> changes_;
    std::uint64_t version_ = 0;
};

}  // namespace tunefarm::schedule
