// SPDX-License-Identifier: MIT
// What the coordinator's state machine needs from the world, as small interfaces: the real server and the tests'
// simulated world implement them. All are called from the coordinator's one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "protocol/messages.h"
#include "storage/records.h"
#include "storage/state_reader.h"

namespace tunefarm::server {

class Transport {
  public:
    virtual ~Transport() = default;
    /// False: the peer is gone, or does not read; the coordinator then takes it for lost.
    virtual bool send(const std::string& peer, const protocol::FromCoordinator& message) = 0;
};

class Journal {
  public:
    virtual ~Journal() = default;
    /// Queues the records for one transaction; tickets grow. What committed() covers is durable.
    virtual std::uint64_t submit(std::vector<storage::Record> records) = 0;
    virtual std::uint64_t committed() const = 0;
};

/// What was committed by earlier runs.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual Result<std::optional<storage::CachedAction>> find_action(const Digest& key) = 0;
    virtual Result<storage::MeasuredProblem> measured(StepId step, std::int32_t problem) = 0;
};

class Artifacts {
  public:
    virtual ~Artifacts() = default;
    virtual Result<std::string> get(const Digest& digest) = 0;
    virtual Result<Digest> put(const std::string& content) = 0;
    virtual Result<std::vector<Digest>> missing(const std::vector<Digest>& digests) = 0;
};

}  // namespace tunefarm::server
