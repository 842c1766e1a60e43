// SPDX-License-Identifier: MIT
#include "worker/agent/transfers.h"

#include <set>
#include <utility>

#include "base/log.h"
#include "protocol/codec.h"

namespace tunefarm::worker {

namespace {

constexpr std::chrono::seconds kRetryPause{1};
/// Results of tiny tasks come in swarms: the first one waits so long for company, since each batch costs an fsync here
/// and a wake-up of everybody behind it.
constexpr std::chrono::milliseconds kCompany{1};
constexpr std::size_t kCrowd = 64;

/// The coordinator or a disk may come back; the work must not be lost meanwhile.
bool may_pass(const Error& error) {
    return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kNoSpace ||
           error.kind == ErrorKind::kTimeout || error.kind == ErrorKind::kIo;
}

Outbox::Entry entry_of(const FinishedAttempt& attempt) {
    constexpr std::size_t kRowsPerFrame = 512;
    constexpr std::size_t kBytesPerFrame = 512U << 10;
    Outbox::Entry entry;
    entry.key = attempt.result.key;
    for (std::size_t next = 0; next < attempt.rows.size();) {
        protocol::Rows rows{attempt.result.key, next, {}};
        for (std::size_t bytes = 0; next < attempt.rows.size() && rows.rows.size() < kRowsPerFrame; ++next) {
            bytes += attempt.rows[next].size();
            if (!rows.rows.empty() && bytes > kBytesPerFrame) break;
            rows.rows.push_back(attempt.rows[next]);
        }
        entry.frames.push_back(protocol::encode(protocol::FromWorker(std::move(rows))));
    }
    entry.frames.push_back(protocol::encode(protocol::FromWorker(attempt.result)));
    if (const Status fits = protocol::check_frame(entry.frames.back()); !fits.ok()) {
        protocol::AttemptResult result;
        result.key = attempt.result.key;
        result.outcome = Outcome::kCrashed;
        result.message = "the result cannot be sent: " + fits.error().message;
        result.result = "{}";
        result.timings = attempt.result.timings;
        result.timings.phases.clear();
        result.row_count = attempt.result.row_count;
        entry.frames.back() = protocol::encode(protocol::FromWorker(std::move(result)));
    }
    return entry;
}

}  // namespace

Transfers::Transfers(const protocol::Context& context, protocol::ArtifactClient::Options options, ContentStore& store,
                     Outbox& outbox, Callbacks callbacks)
    : context_(context),
      options_(std::move(options)),
      store_(store),
      outbox_(outbox),
      callbacks_(std::move(callbacks)) {
    options_.stop = &stop_;
    fetcher_ = std::thread([this] { fetch_loop(); });
    finisher_ = std::thread([this] { finish_loop(); });
}

Transfers::~Transfers() {
    stop();
}

void Transfers::stop() {
    {
        const std::lock_guard lock(mutex_);
        stop_.store(true);
    }
    changed_.notify_all();
    finishable_.notify_all();
    if (fetcher_.joinable()) fetcher_.join();
    if (finisher_.joinable()) finisher_.join();
}

void Transfers::set_endpoint(const std::string& endpoint) {
    const std::lock_guard lock(mutex_);
    endpoint_ = endpoint;
    changed_.notify_all();
}

bool Transfers::pin_inputs(Job& job) {
    for (std::size_t i = 0; i < job.assign.inputs.size(); ++i) {
        if (store_.pin(job.assign.inputs[i].digest)) continue;
        while (i-- > 0) store_.unpin(job.assign.inputs[i].digest);
        return false;
    }
    job.pinned.store(true);
    return true;
}

void Transfers::unpin_inputs(Job& job) {
    if (!job.pinned.exchange(false)) return;
    for (const protocol::Input& input : job.assign.inputs) store_.unpin(input.digest);
}

void Transfers::fetch(JobPtr job) {
    const std::lock_guard lock(mutex_);
    to_fetch_.push_back(std::move(job));
    changed_.notify_all();
}

void Transfers::finish(FinishedAttempt attempt) {
    std::unique_lock lock(mutex_);
    to_finish_.push_back(std::move(attempt));
    const bool first = to_finish_.size() == 1;
    lock.unlock();
    if (first) finishable_.notify_one();
}

bool Transfers::idle() const {
    const std::lock_guard lock(mutex_);
    return to_finish_.empty() && finishing_ == 0;
}

bool Transfers::pause() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kRetryPause, [this] { return stop_.load(); });
    return !stop_.load();
}

protocol::ArtifactClient* Transfers::client(std::unique_ptr<protocol::ArtifactClient>& current, std::string& endpoint) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_.load() || !endpoint_.empty(); });
    if (stop_.load()) return nullptr;
    if (current == nullptr || endpoint != endpoint_) {
        endpoint = endpoint_;
        current = std::make_unique<protocol::ArtifactClient>(context_, endpoint, options_);
    }
    return current.get();
}

Status Transfers::fetch_inputs(Job& job, protocol::ArtifactClient& client) {
    for (std::size_t i = 0; i < job.assign.inputs.size(); ++i) {
        const protocol::Input& input = job.assign.inputs[i];
        Status status;
        if (job.token.cancelled()) {
            status = Error{ErrorKind::kCancelled, "cancelled"};
        } else if (!store_.pin(input.digest)) {
            status = client.fetch_file(input.digest, input.size, store_.path_of(input.digest));
            if (status.ok()) store_.added(input.digest, input.size);
        }
        if (status.ok()) continue;
        while (i-- > 0) store_.unpin(job.assign.inputs[i].digest);
        return status.error().in("input '" + input.name + "'");
    }
    job.pinned.store(true);
    return {};
}

void Transfers::fetch_loop() {
    std::unique_ptr<protocol::ArtifactClient> current;
    std::string endpoint;
    for (;;) {
        JobPtr job;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return stop_.load() || !to_fetch_.empty(); });
            if (stop_.load()) return;
            job = std::move(to_fetch_.front());
            to_fetch_.pop_front();
        }
        for (;;) {
            protocol::ArtifactClient* artifacts = client(current, endpoint);
            if (artifacts == nullptr) return;
            const Status status = fetch_inputs(*job, *artifacts);
            if (status.ok()) {
                callbacks_.inputs_ready(job);
            } else if (status.error().kind == ErrorKind::kUnavailable && pause()) {
                continue;
            } else if (!stop_.load()) {
                callbacks_.inputs_failed(job, status.error());
            }
            break;
        }
    }
}

Status Transfers::settle(std::vector<FinishedAttempt>& batch) {
    std::vector<protocol::LocalArtifact> artifacts;
    std::set<Digest> seen;
    std::vector<Outbox::Entry> entries;
    for (const FinishedAttempt& attempt : batch) {
        for (const Digest& digest : attempt.outputs) {
            if (seen.insert(digest).second) artifacts.push_back({digest, store_.path_of(digest), ""});
        }
        entries.push_back(entry_of(attempt));
    }
    if (!artifacts.empty()) {
        protocol::ArtifactClient* artifact_client = client(upload_client_, upload_endpoint_);
        if (artifact_client == nullptr) return Error{ErrorKind::kCancelled, "stopping"};
        TUNEFARM_TRY(artifact_client->put_all(artifacts));
    }
    return outbox_.add(std::move(entries));
}

void Transfers::finish_loop() {
    for (;;) {
        std::vector<FinishedAttempt> batch;
        {
            std::unique_lock lock(mutex_);
            finishable_.wait(lock, [this] { return stop_.load() || !to_finish_.empty(); });
            if (!stop_.load() && to_finish_.size() < kCrowd)
                finishable_.wait_for(lock, kCompany, [this] { return stop_.load(); });
            if (stop_.load()) return;
            batch.swap(to_finish_);
            finishing_ = batch.size();
        }
        Status status = settle(batch);
        while (!status.ok() && may_pass(status.error())) {
            log::warning("results wait: " + status.error().message);
            if (!pause()) return;
            status = settle(batch);
        }
        if (!status.ok() && status.error().kind == ErrorKind::kCancelled) return;
        if (!status.ok()) {
            // Something is wrong with an output of one of them: find out which by going one by one.
            for (FinishedAttempt& attempt : batch) {
                std::vector<FinishedAttempt> single{attempt};
                const Status alone = settle(single);
                if (alone.ok()) continue;
                single[0].outputs.clear();
                single[0].result.outputs.clear();
                single[0].result.outcome = Outcome::kCrashed;
                single[0].result.message = "its outputs cannot be uploaded: " + alone.error().message;
                const Status reported = settle(single);
                if (!reported.ok()) log::error("a result is lost: " + reported.error().message);
            }
        }
        for (const FinishedAttempt& attempt : batch) {
            for (const Digest& digest : attempt.outputs) store_.unpin(digest);
        }
        {
            const std::lock_guard lock(mutex_);
            finishing_ = 0;
        }
        callbacks_.results_added();
    }
}

}  // namespace tunefarm::worker
