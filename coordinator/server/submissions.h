// SPDX-License-Identifier: MIT
// From requests to campaigns of the core: new ones, those that go on, and those that earlier processes left unfinished.
// Single-threaded, with the core.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "coordinator/server/core.h"
#include "coordinator/server/seams.h"
#include "storage/state_reader.h"

namespace tunefarm::server {

struct Submitted {
    CampaignId campaign;
    bool resumed = false;  ///< an unfinished campaign goes on
    bool joined = false;   ///< the same command is running already: it is the one campaign of both
};

class Submissions {
  public:
    /// All references must outlive it. The reader must not be held back to an older state during a call.
    Submissions(Core& core, storage::StateReader& reader, Journal& journal, Artifacts& artifacts)
        : core_(core), reader_(reader), journal_(journal), artifacts_(artifacts) {}

    Result<Submitted> submit(CampaignRequest request, Instant now);

    /// Every campaign without an end goes on, at a later resume(), as soon as the connected workers offer exactly the
    /// toolchains that it was begun with, since with others its steps may hold other kernels. Returns why some cannot,
    /// as lines for people; those stay as they are.
    Result<std::vector<std::string>> take_up_all();
    void resume(Instant now);

    /// The failed and cancelled steps of an ended campaign wait again, and it goes on as above; none named: the latest.
    /// `forget`: failures of its actions are not answered from the cache any more. Precondition: what has been
    /// submitted to the journal is committed. kInput: there is nothing to repeat.
    Result<CampaignId> retry(CampaignId campaign, bool forget);

    /// Campaigns that wait for their toolchains, by name.
    std::map<CampaignId, std::string> waiting() const;
    /// Precondition: it is waiting.
    Status cancel_waiting(CampaignId campaign, Instant now);

    /// Given to the core since the last call.
    std::vector<Submitted> take_begun() { return std::exchange(begun_, {}); }

  private:
    struct Waiting {
        CampaignRequest request;
        Digest key;
        std::uint64_t ticket = 0;  ///< must be committed first
    };
    bool may_resume(Waiting& waiting) const;

    Core& core_;
    storage::StateReader& reader_;
    Journal& journal_;
    Artifacts& artifacts_;
    std::map<CampaignId, Waiting> waiting_;
    std::vector<Submitted> begun_;
};

}  // namespace tunefarm::server
