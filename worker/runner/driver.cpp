// SPDX-License-Identifier: MIT
#include "worker/runner/driver.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>

#include "worker/runner/process_table.h"

namespace tunefarm::worker {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kMemorySample{50};
constexpr Micros kStopLimit{2'000'000};

/// write() that never raises SIGPIPE, whatever the program does with that signal: a driver that is gone must not take
/// the worker with it.
ssize_t write_to_child(int fd, const std::string& bytes) {
    sigset_t pipe, old;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, &old);
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    const int error = errno;
    constexpr timespec kNow{};
    if (n < 0 && error == EPIPE) ::sigtimedwait(&pipe, nullptr, &kNow);  // takes back the signal that waits
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    errno = error;
    return n;
}

}  // namespace

CancelToken::CancelToken() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void CancelToken::cancel() {
    cancelled_.store(true);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(fd_.get(), &one, sizeof one);
}

/// Exchanges lines with the process until `finish` was called by an event or a limit. Shared by hello and requests.
class Driver::Conversation {
  public:
    explicit Conversation(Driver& driver) : driver_(driver), process_(*driver.process_) {}

    std::string to_send;
    std::optional<Clock::time_point> deadline;
    /// Longest time between two signs of life; 0: no limit.
    Micros silence{0};
    Clock::time_point last_sign = Clock::now();
    CancelToken* token = nullptr;
    Bytes memory_limit;
    bool sample_memory = false;
    /// Handles one line; true ends the conversation.
    std::function<bool(std::string_view line)> on_line;
    std::function<void()> on_cancel;

    enum class End { kAnswered, kDied, kDeadline, kSilence, kMemory, kGarbage, kCancelled };

    Bytes peak;
    std::string garbage;

    End run() {
        auto next_sample = Clock::now() + kMemorySample / 5;
        std::optional<Clock::time_point> cancel_deadline;
        // A request may follow lines that arrived with the last answer.
        if (const auto end = take_lines()) return *end;
        for (;;) {
            auto wake = Clock::now() + std::chrono::hours(1);
            if (deadline) wake = std::min(wake, *deadline);
            if (silence.count() > 0) wake = std::min(wake, last_sign + silence);
            if (cancel_deadline) wake = std::min(wake, *cancel_deadline);
            if (sample_memory) wake = std::min(wake, next_sample);
            poll_once(wake, !cancel_deadline);
            process_.drain_output();
            const auto received = read_events();
            if (received) return *received;
            send_more();
            if (process_.ended()) {
                // Its descendants may still hold the other end: they go first, then what was written before is read.
                process_.kill_tree();
                while (true) {
                    const std::size_t before = bytes_;
                    if (const auto last = read_events()) return *last;
                    if (bytes_ == before) return End::kDied;
                }
            }
            const auto now = Clock::now();
            if (token != nullptr && token->cancelled() && !cancel_deadline) {
                if (on_cancel) on_cancel();
                cancel_deadline = now + driver_.options_.cancel_grace;
            }
            if (cancel_deadline && now >= *cancel_deadline) return End::kCancelled;
            if (deadline && now >= *deadline) return End::kDeadline;
            if (silence.count() > 0 && now >= last_sign + silence) return End::kSilence;
            if (sample_memory && now >= next_sample) {
                next_sample = now + kMemorySample;
                if (!memory_fits()) return End::kMemory;
            }
        }
    }

    /// Of the driver alone: short requests end before the first sample, and a look at all processes would cost more
    /// than they do.
    void last_sample() {
        if (const auto info = read_process(process_.pid())) note(info->resident);
    }

    bool memory_fits() {
        const auto snapshot = process_table().snapshot(kMemorySample / 2);
        const std::vector<ProcessInfo> tree = tree_of(process_.pid(), *snapshot);
        Bytes sum;
        for (const ProcessInfo& info : tree) sum.count += info.resident.count;
        note(sum);
        if (memory_limit.count <= 0 || sum <= memory_limit) return true;
        Bytes divided;
        for (const ProcessInfo& info : tree) {
            divided.count += proportional_set_size(info.pid).value_or(info.resident).count;
        }
        return divided <= memory_limit;
    }

  private:
    void note(Bytes sum) {
        peak = std::max(peak, sum);
        driver_.recent_peak_ = std::max(driver_.recent_peak_, sum);
    }

    void poll_once(Clock::time_point wake, bool watch_token) {
        struct pollfd fds[5];
        nfds_t count = 0;
        fds[count++] = {process_.exit_fd(), POLLIN, 0};
        if (!events_closed_) fds[count++] = {process_.event_fd(), POLLIN, 0};
        if (process_.output_fd() >= 0) fds[count++] = {process_.output_fd(), POLLIN, 0};
        if (!to_send.empty()) fds[count++] = {process_.request_fd(), POLLOUT, 0};
        if (token != nullptr && watch_token) fds[count++] = {token->fd(), POLLIN, 0};
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(wake - Clock::now()).count();
        ::poll(fds, count, static_cast<int>(std::clamp<long>(left + 1, 0, 3'600'000)));
    }

    void send_more() {
        while (!to_send.empty()) {
            const ssize_t n = write_to_child(process_.request_fd(), to_send);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) {
                if (errno != EAGAIN) to_send.clear();  // it has closed its end: its exit or a limit ends this
                return;
            }
            to_send.erase(0, static_cast<std::size_t>(n));
        }
    }

    /// Reads at most 1 MiB, so that output and limits get their turn during a flood.
    std::optional<End> read_events() {
        char chunk[65536];
        for (int round = 0; round < 16 && !events_closed_; ++round) {
            const ssize_t n = ::read(process_.event_fd(), chunk, sizeof chunk);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return std::nullopt;
            if (n == 0) {
                events_closed_ = true;
                return std::nullopt;
            }
            bytes_ += static_cast<std::size_t>(n);
            driver_.buffer_.append(chunk, static_cast<std::size_t>(n));
            if (const auto end = take_lines()) return end;
            if (bytes_ > static_cast<std::size_t>(driver_.options_.max_event_bytes)) {
                garbage = "protocol error: more than " + std::to_string(driver_.options_.max_event_bytes) +
                          " bytes of events in one request";
                return End::kGarbage;
            }
        }
        return std::nullopt;
    }

    std::optional<End> take_lines() {
        std::string& buffer = driver_.buffer_;
        std::size_t start = 0;
        std::optional<End> end;
        while (!end) {
            const std::size_t newline = buffer.find('\n', start);
            const std::size_t length = (newline == std::string::npos ? buffer.size() : newline) - start;
            if (length > driver_.options_.max_line) {
                garbage = "protocol error: a line longer than " + std::to_string(driver_.options_.max_line) + " bytes";
                end = End::kGarbage;
            }
            if (newline == std::string::npos || end) break;
            const std::string_view line(buffer.data() + start, length);
            start = newline + 1;
            if (on_line(line)) end = garbage.empty() ? End::kAnswered : End::kGarbage;
        }
        buffer.erase(0, start);
        return end;
    }

    Driver& driver_;
    Process& process_;
    bool events_closed_ = false;
    std::size_t bytes_ = 0;
};

Driver::Driver(DriverOptions options) : options_(std::move(options)) {}

Driver::~Driver() {
    kill();
}

Status Driver::start() {
    kill();
    ProcessOptions options;
    options.command = options_.command;
    options.directory = options_.directory;
    options.environment = options_.environment;
    options.cpus = options_.cpus;
    options.nice = options_.nice;
    options.file_size_limit = options_.file_size_limit;
    const std::string who = "driver of " + options_.toolchain;
    auto started = Process::start(options);
    if (!started.ok()) return started.error().in(who);
    process_ = std::move(started).value();
    buffer_.clear();

    Conversation talk(*this);
    talk.deadline = Clock::now() + options_.hello_limit;
    talk.on_line = [&](std::string_view line) {
        auto event = parse_event(line);
        if (!event.ok()) {
            talk.garbage = event.error().message;
        } else if (event->kind != DriverEvent::Kind::kHello) {
            talk.garbage = "protocol error: the first line is not a hello: " + std::string(line.substr(0, 200));
        } else if (event->hello.toolchain != options_.toolchain) {
            talk.garbage = "protocol error: it says that it is the toolchain '" + event->hello.toolchain + "'";
        } else {
            hello_ = std::move(event->hello);
        }
        return true;
    };
    const auto end = talk.run();
    if (end == Conversation::End::kAnswered) return {};
    Error error{ErrorKind::kUnavailable, who + ": "};
    if (end == Conversation::End::kDied) {
        error.message += process_->status().describe() + " before its hello";
    } else if (end == Conversation::End::kDeadline) {
        error = {ErrorKind::kTimeout,
                 error.message + "no hello within " + std::to_string(options_.hello_limit.count() / 1'000'000) + " s"};
    } else {
        error = {ErrorKind::kCorruption, error.message + talk.garbage};
    }
    process_->drain_output();
    if (const std::string log = process_->log_tail(); !log.empty()) error.message += "\n" + log;
    kill();
    return error;
}

DriverReply Driver::run(const DriverRequest& request, CancelToken& token, const DriverCallbacks& callbacks) {
    DriverReply reply;
    const std::int64_t id = next_id_++;
    auto line = request_line(id, request.verb, request.target, request.dir, request.inputs, request.args);
    if (!line.ok() || line->size() > options_.max_line) {
        reply.outcome = Outcome::kInputFailed;
        reply.message = line.ok() ? "the request is longer than a line may be" : line.error().message;
        return reply;
    }
    process_->drain_output();
    process_->clear_log();
    recent_peak_ = Bytes{};
    const Micros cpu_before = process_->cpu();
    const auto start = Clock::now();

    Conversation talk(*this);
    talk.to_send = std::move(line).value();
    talk.token = &token;
    talk.sample_memory = true;
    talk.memory_limit = request.memory_limit;
    const OwnLimits& own = hello_.limits;
    if (const auto it = own.memory.find(request.verb); it != own.memory.end()) {
        if (talk.memory_limit.count <= 0 || it->second < talk.memory_limit) talk.memory_limit = it->second;
    }
    if (const auto it = own.silence.find(request.verb); it != own.silence.end()) talk.silence = it->second;
    if (request.time_limit.count() > 0) talk.deadline = start + request.time_limit;
    talk.on_cancel = [&] { talk.to_send += cancel_line(id); };
    bool refused = false;
    talk.on_line = [&](std::string_view text) {
        auto parsed = parse_event(text);
        if (!parsed.ok()) {
            talk.garbage = parsed.error().message;
            return true;
        }
        DriverEvent& event = *parsed;
        if (event.kind == DriverEvent::Kind::kHello || event.id != id) {
            talk.garbage =
                "protocol error: an event that belongs to no running request: " + std::string(text.substr(0, 200));
            return true;
        }
        switch (event.kind) {
            case DriverEvent::Kind::kProgress:
                talk.last_sign = Clock::now();
                if (callbacks.progress) callbacks.progress(event.done, event.total);
                return false;
            case DriverEvent::Kind::kLog:
                if (callbacks.log) callbacks.log(std::move(event.text));
                return false;
            case DriverEvent::Kind::kRow:
                talk.last_sign = Clock::now();
                refused = callbacks.row && !callbacks.row(std::move(event.text));
                if (refused) talk.garbage = "protocol error: a row that its verb does not allow";
                return refused;
            case DriverEvent::Kind::kDone:
                reply.result = std::move(event.text);
                reply.outputs = std::move(event.outputs);
                reply.phases = std::move(event.phases);
                return true;
            default:
                reply.outcome = event.error_class == "input"         ? Outcome::kInputFailed
                                : event.error_class == "environment" ? Outcome::kUnsupported
                                                                     : Outcome::kCrashed;
                reply.message = std::move(event.text);
                reply.path = std::move(event.path);
                reply.allowed = std::move(event.allowed);
                reply.log = std::move(event.log);
                return true;
        }
    };

    const auto end = talk.run();
    talk.last_sample();
    reply.peak_memory = talk.peak;
    using End = Conversation::End;
    reply.driver_lost = end != End::kAnswered;
    if (reply.driver_lost) process_->kill_tree();
    reply.elapsed = std::chrono::duration_cast<Micros>(Clock::now() - start);
    reply.cpu = std::max(Micros{0}, process_->cpu() - cpu_before);
    switch (end) {
        case End::kAnswered:
            if (token.cancelled()) reply.outcome = Outcome::kCancelled;
            break;
        case End::kDied:
            reply.outcome = process_->status().out_of_memory ? Outcome::kOutOfMemory : Outcome::kCrashed;
            reply.message = "the driver " + process_->status().describe();
            if (token.cancelled()) reply.outcome = Outcome::kCancelled;
            break;
        case End::kDeadline:
            reply.outcome = Outcome::kTimedOut;
            reply.message = "passed its time limit of " + std::to_string(request.time_limit.count() / 1000) + " ms";
            break;
        case End::kSilence:
            reply.outcome = Outcome::kTimedOut;
            reply.message = "told nothing for " + std::to_string(talk.silence.count() / 1000) +
                            " ms, the limit that its hello names";
            break;
        case End::kMemory:
            reply.outcome = Outcome::kOutOfMemory;
            reply.message = "passed its memory limit of " + std::to_string(talk.memory_limit.count >> 20) + " MiB";
            break;
        case End::kGarbage:
            reply.outcome = Outcome::kCrashed;
            reply.message = talk.garbage;
            break;
        case End::kCancelled: reply.outcome = Outcome::kCancelled; break;
    }
    if (reply.outcome == Outcome::kCancelled && reply.message.empty()) reply.message = "cancelled";
    process_->drain_output();
    std::string log = process_->log_tail();
    if (!reply.log.empty()) log += (log.empty() || log.back() == '\n' ? "" : "\n") + reply.log;
    if (log.size() > protocol::kMaxLogTail) log.erase(0, log.size() - protocol::kMaxLogTail);
    reply.log = std::move(log);
    if (reply.driver_lost) process_.reset();
    return reply;
}

Bytes Driver::resident() const {
    const auto info = process_ != nullptr ? read_process(process_->pid()) : std::nullopt;
    return info ? info->resident : Bytes{};
}

void Driver::stop() {
    if (process_ == nullptr) return;
    process_->close_requests();
    process_->wait(kStopLimit);
    kill();
}

void Driver::kill() {
    process_.reset();
    buffer_.clear();
}

}  // namespace tunefarm::worker
