// SPDX-License-Identifier: MIT
#include "storage/writer.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "storage/coalesce.h"
#include "storage/record_sql.h"
#include "storage/schema.h"

namespace tunefarm::storage {

namespace {

using Clock = std::chrono::steady_clock;

/// After this much silence the WAL is copied back into the database and cut to nothing.
constexpr std::chrono::seconds kIdle{2};
/// What has come during a commit goes into the next one, up to so many times max_batch: the longer the queue, the more
/// of its records replace each other.
constexpr std::size_t kBacklog = 2;
/// A database of at most this size is checked completely after an unclean stop; larger ones would delay the start.
constexpr std::int64_t kQuickCheckLimit = 256LL << 20;

bool is_final(ErrorKind kind) {
    return kind != ErrorKind::kNoSpace && kind != ErrorKind::kIo && kind != ErrorKind::kUnavailable;
}

Result<UniqueFd> lock(const std::string& path) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!fd.valid()) return errno_error(path);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return errno_error(path);
        const Result<std::string> owner = read_file(path, 64);
        return Error{ErrorKind::kUnavailable, path + ": another coordinator (pid " + (owner.ok() ? *owner : "unknown") +
                                                  ") uses this directory; wait for it or stop it"};
    }
    if (::ftruncate(fd.get(), 0) != 0) return errno_error(path);
    TUNEFARM_TRY(write_all(fd.get(), std::to_string(::getpid())));
    return fd;
}

std::int64_t file_size(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? info.st_size : 0;
}

struct Submission {
    std::uint64_t ticket = 0;
    std::vector<Record> records;
    std::size_t bytes = 0;
    Clock::time_point at;
};

}  // namespace

struct Writer::State {
    State(UniqueFd lock_fd, Database database, RecordApplier record_applier, UniqueFd event,
          const WriterOptions& chosen)
        : lock(std::move(lock_fd)),
          db(std::move(database)),
          applier(std::move(record_applier)),
          event_fd(std::move(event)),
          options(chosen) {}

    const UniqueFd lock;
    Database db;            // writer thread only, after open()
    RecordApplier applier;  // writer thread only
    const UniqueFd event_fd;
    const WriterOptions options;

    mutable std::mutex mutex;
    std::condition_variable work;      // the thread waits: submissions, flush, stop
    std::condition_variable progress;  // callers wait: committed, health, room
    std::deque<Submission> queue;      // includes the batch being committed, at its front
    std::size_t waiting_records = 0;
    std::size_t waiting_bytes = 0;
    std::uint64_t last_ticket = 0;
    std::uint64_t committed = 0;
    std::uint64_t flush_until = 0;
    bool stop = false;
    Status health;
    WriterStats stats;
    std::thread thread;

    void signal() const {
        const std::uint64_t one = 1;
        // A full counter is readable already.
        const ssize_t ignored = ::write(event_fd.get(), &one, sizeof one);
        static_cast<void>(ignored);
    }

    bool failed_for_good() const { return !health.ok() && is_final(health.error().kind); }

    void set_health(Status next) {
        const std::lock_guard guard(mutex);
        const bool same = next.ok() == health.ok() && (next.ok() || next.error().message == health.error().message);
        if (same) return;
        if (next.ok()) {
            log::info("database: writing again");
        } else if (is_final(next.error().kind)) {
            log::error("database: " + next.error().message);
        } else {
            log::warning("database: " + next.error().message + "; the queue is kept and tried again");
        }
        health = std::move(next);
        if (failed_for_good()) {
            queue.clear();
            waiting_records = 0;
            waiting_bytes = 0;
        }
        signal();
        progress.notify_all();
    }

    /// One transaction with the submissions of `batch`. Their records are read without the lock: only this thread
    /// removes from the queue's front, and a deque keeps references valid when others append.
    Status commit(const std::vector<const Submission*>& batch) {
        std::vector<const Record*> records;
        for (const Submission* submission : batch) {
            for (const Record& record : submission->records) records.push_back(&record);
        }
        const std::vector<bool> replaced = superseded(records);
        TUNEFARM_TRY(db.execute("BEGIN IMMEDIATE"));
        Status done;
        for (std::size_t i = 0; i < records.size() && done.ok(); ++i) {
            if (!replaced[i]) done = applier.apply(*records[i]);
        }
        if (done.ok()) done = db.execute("COMMIT");
        if (!done.ok() && db.in_transaction()) {
            const Status rolled_back = db.execute("ROLLBACK");
            static_cast<void>(rolled_back);
        }
        return done;
    }

    void run() {
        while (true) {
            std::vector<const Submission*> batch;
            {
                std::unique_lock guard(mutex);
                while (queue.empty() && !stop) {
                    if (work.wait_for(guard, kIdle) == std::cv_status::timeout && queue.empty() && !stop &&
                        stats.wal_pages > 0) {
                        guard.unlock();
                        checkpoint();
                        guard.lock();
                    }
                }
                if (queue.empty()) return;
                const Clock::time_point due = queue.front().at + options.max_delay;
                work.wait_until(guard, due, [&] {
                    return stop || waiting_records >= options.max_batch || flush_until > committed;
                });
                std::size_t records = 0;
                for (const Submission& submission : queue) {
                    batch.push_back(&submission);
                    records += submission.records.size();
                    if (records >= kBacklog * options.max_batch) break;
                }
            }
            const Clock::time_point begin = Clock::now();
            Status done = commit(batch);
            if (done.ok()) {
                accept(batch.size(), std::chrono::duration_cast<Micros>(Clock::now() - begin));
                set_health({});
                continue;
            }
            set_health(done);
            std::unique_lock guard(mutex);
            if (failed_for_good()) return;
            if (stop) {
                log::warning("database: stopped with " + std::to_string(waiting_records) + " records not written");
                return;
            }
            work.wait_for(guard, options.retry, [&] { return stop; });
        }
    }

    void accept(std::size_t submissions, Micros took) {
        const std::int64_t pages = (file_size(db.path() + "-wal")) / 4096;
        const std::lock_guard guard(mutex);
        for (std::size_t i = 0; i < submissions; ++i) {
            const Submission& done = queue.front();
            committed = done.ticket;
            waiting_records -= done.records.size();
            waiting_bytes -= done.bytes;
            stats.records += done.records.size();
            queue.pop_front();
        }
        ++stats.commits;
        stats.last_commit = took;
        stats.wal_pages = pages;
        signal();
        progress.notify_all();
    }

    void checkpoint() {
        // Readers may hold the WAL; waiting for them here would delay the next commit.
        sqlite3_busy_timeout(db.handle(), 0);
        const int code = sqlite3_wal_checkpoint_v2(db.handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr);
        sqlite3_busy_timeout(db.handle(), options.database.busy_timeout_ms);
        const std::lock_guard guard(mutex);
        if (code == SQLITE_OK) stats.wal_pages = 0;
    }
};

Writer::Writer(std::unique_ptr<State> state) : state_(std::move(state)) {
    state_->thread = std::thread([s = state_.get()] {
        try {
            s->run();
        } catch (const std::exception& error) {
            s->set_health(Error{ErrorKind::kInternal, std::string("writer thread: ") + error.what()});
        } catch (...) {
            s->set_health(Error{ErrorKind::kInternal, "writer thread: unknown exception"});
        }
    });
}

Result<std::unique_ptr<Writer>> Writer::open(const std::string& path, const WriterOptions& options) {
    TUNEFARM_ASSIGN(UniqueFd lock_fd, lock(path + ".lock"));
    const bool unclean = file_size(path + "-wal") > 0;
    TUNEFARM_ASSIGN(Database db, Database::open_writable(path, options.database));
    if (unclean && file_size(path) <= kQuickCheckLimit) {
        TUNEFARM_ASSIGN(const std::string verdict, db.query_text("PRAGMA quick_check(1)"));
        if (verdict != "ok") return Error{ErrorKind::kCorruption, path + ": " + verdict};
    }
    TUNEFARM_TRY(migrate(db));
    TUNEFARM_ASSIGN(RecordApplier applier, RecordApplier::create(db));
    UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event.valid()) return errno_error("eventfd");
    auto state =
        std::make_unique<State>(std::move(lock_fd), std::move(db), std::move(applier), std::move(event), options);
    return std::unique_ptr<Writer>(new Writer(std::move(state)));
}

Writer::~Writer() {
    {
        const std::lock_guard guard(state_->mutex);
        state_->stop = true;
    }
    state_->work.notify_all();
    state_->thread.join();
}

std::uint64_t Writer::submit(std::vector<Record> records) {
    State& s = *state_;
    std::size_t bytes = sizeof(Submission);
    for (const Record& record : records) bytes += footprint(record);
    std::unique_lock guard(s.mutex);
    s.progress.wait(guard, [&] {
        return s.queue.empty() || s.waiting_bytes + bytes <= s.options.max_queued_bytes || s.failed_for_good();
    });
    const std::uint64_t ticket = ++s.last_ticket;
    if (s.failed_for_good()) return ticket;
    const bool first = s.queue.empty();
    s.waiting_records += records.size();
    s.waiting_bytes += bytes;
    s.queue.push_back(Submission{ticket, std::move(records), bytes, Clock::now()});
    const bool full = s.waiting_records >= s.options.max_batch;
    guard.unlock();
    if (first || full) s.work.notify_all();
    return ticket;
}

std::uint64_t Writer::committed() const {
    const std::lock_guard guard(state_->mutex);
    return state_->committed;
}

int Writer::event_fd() const {
    return state_->event_fd.get();
}

Status Writer::flush() {
    State& s = *state_;
    std::unique_lock guard(s.mutex);
    const std::uint64_t target = s.last_ticket;
    s.flush_until = std::max(s.flush_until, target);
    s.work.notify_all();
    s.progress.wait(guard, [&] { return s.committed >= target || s.failed_for_good(); });
    return s.committed >= target ? Status() : s.health;
}

Status Writer::health() const {
    const std::lock_guard guard(state_->mutex);
    return state_->health;
}

WriterStats Writer::stats() const {
    const std::lock_guard guard(state_->mutex);
    WriterStats stats = state_->stats;
    stats.queued_records = state_->waiting_records;
    stats.queued_bytes = state_->waiting_bytes;
    return stats;
}

}  // namespace tunefarm::storage
