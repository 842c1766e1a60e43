// SPDX-License-Identifier: MIT
// Inputs come before their slot, outputs go before their result: two threads, each with its own artifact client.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "protocol/artifact_client.h"
#include "worker/agent/content_store.h"
#include "worker/agent/local_queue.h"
#include "worker/agent/outbox.h"

namespace tunefarm::worker {

/// The end of an attempt, with the artifacts that must be in the coordinator's store before it is told.
struct FinishedAttempt {
    protocol::AttemptResult result;
    std::vector<Digest> outputs;    ///< pinned in the content store; unpinned once uploaded
    std::vector<std::string> rows;  ///< streamed already, kept with the result in case the coordinator has lost them
};

/// All public functions are thread-safe.
class Transfers {
  public:
    struct Callbacks {
        std::function<void(const JobPtr&)> inputs_ready;
        std::function<void(const JobPtr&, const Error&)> inputs_failed;
        std::function<void()> results_added;
    };
    Transfers(const protocol::Context& context, protocol::ArtifactClient::Options options, ContentStore& store,
              Outbox& outbox, Callbacks callbacks);
    ~Transfers();

    /// Where artifacts are, as the coordinator's Welcome says.
    void set_endpoint(const std::string& endpoint);
    /// True when all inputs are here already (pinned). Otherwise nothing is pinned: call fetch().
    bool pin_inputs(Job& job);
    /// Does nothing when they are not held.
    void unpin_inputs(Job& job);
    void fetch(JobPtr job);
    void finish(FinishedAttempt attempt);
    /// Nothing waits to be uploaded.
    bool idle() const;
    void stop();

  private:
    void fetch_loop();
    void finish_loop();
    Status fetch_inputs(Job& job, protocol::ArtifactClient& client);
    Status settle(std::vector<FinishedAttempt>& batch);
    /// A client for the current endpoint; null when stopped.
    protocol::ArtifactClient* client(std::unique_ptr<protocol::ArtifactClient>& current, std::string& endpoint);
    bool pause();  // false when stopped

    const protocol::Context context_;
    protocol::ArtifactClient::Options options_;
    ContentStore& store_;
    Outbox& outbox_;
    const Callbacks callbacks_;
    std::atomic<bool> stop_{false};
    mutable std::mutex mutex_;
    std::condition_variable changed_;     ///< the endpoint, inputs to fetch, stop
    std::condition_variable finishable_;  ///< results, stop
    std::string endpoint_;
    std::deque<JobPtr> to_fetch_;
    std::vector<FinishedAttempt> to_finish_;
    std::size_t finishing_ = 0;
    std::unique_ptr<protocol::ArtifactClient> upload_client_;
    std::string upload_endpoint_;
    std::thread fetcher_;
    std::thread finisher_;
};

}  // namespace tunefarm::worker
