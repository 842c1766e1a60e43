// SPDX-License-Identifier: MIT
// What crosses the control socket, as plain values. The codec (codec.h) turns them into Cap'n Proto and back; nothing
// behind it ever sees a Cap'n Proto reader. The wire form and its limits are described in docs/protocol.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/types.h"

namespace tunefarm::protocol {

inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 1;

/// One execution of an action. (action, attempt) is the fencing token: the coordinator accepts the first valid result
/// of a live attempt and answers every other one with an Ack that says `stale`.
struct AttemptKey {
    ActionId action;
    std::uint32_t attempt = 0;
    auto operator<=>(const AttemptKey&) const = default;
};

/// "This worker can execute `verb` of `toolchain` for `target`" ("*": any target). The fingerprint covers the content
/// of everything that can change the output; equal fingerprints mean interchangeable workers.
struct Capability {
    std::string toolchain;
    TaskKind verb = TaskKind::kSplit;
    std::string target;
    Digest fingerprint;
    bool operator==(const Capability&) const = default;
};

/// Why a worker cannot do something it was expected to do ("clang-22 not found: install the package clang-22").
struct Missing {
    std::string toolchain;
    std::string target;
    std::string reason;
    bool operator==(const Missing&) const = default;
};

/// Something that measures one thing at a time: a GPU or a set of reserved CPU cores.
struct Device {
    std::string id;           ///< unique on its host: "cpu", "gpu0"
    std::string target;       ///< "x86-64-v4", "gfx942"
    std::string description;  ///< model name, as people know it
    std::string facts;        ///< JSON object: identity that ends comparability when it changes
    bool simulated = false;
    std::uint32_t slots = 0;  ///< CPU slots that a measurement on this device takes from the host's budget
    bool operator==(const Device&) const = default;
};

// ---- worker → coordinator ----

/// First message of every process start. A hello of a new boot supersedes the host's older one.
struct Hello {
    std::uint16_t major = kMajor;
    std::uint16_t minor = kMinor;
    std::array<std::uint8_t, 16> boot{};  ///< random, fresh per process start
    std::string host;
    std::uint32_t slots = 0;
    Bytes memory;
    std::vector<Capability> capabilities;
    std::vector<Device> devices;
    std::vector<Missing> missing;
    std::vector<AttemptKey> running;  ///< attempts that survived a coordinator restart and may be adopted
    bool operator==(const Hello&) const = default;
};

/// Slot time of one host since its process start, each figure measured on its own (docs/timings.md).
struct SlotAccount {
    Micros wall{0};  ///< since the first slot opened; slots × wall is the whole
    std::uint32_t slots = 0;
    std::array<Micros, kTaskKinds> busy{};             ///< slot time by kind, from the attempts' own start and end
    std::vector<std::pair<std::string, Micros>> idle;  ///< slot time by reason, from the slots' idle intervals
    bool operator==(const SlotAccount&) const = default;
};

struct WorkerHeartbeat {
    std::vector<AttemptKey> running;
    SlotAccount account;
    /// Messages sent on this connection before this one, the Hello included; 0: not counted. A receiver that has got
    /// another number knows that some were lost: sockets reconnect silently, and what was under way is then gone.
    std::uint64_t sent = 0;
    bool operator==(const WorkerHeartbeat&) const = default;
};

/// Changed limits of a worker that is already connected (disk full: slots 0; draining: slots 0).
struct Credit {
    std::uint32_t slots = 0;
    Bytes memory;
    std::string reason;
    bool operator==(const Credit&) const = default;
};

/// Rows of a running attempt, streamed as they happen; `first` numbers the first row, from 0 within the attempt.
struct Rows {
    AttemptKey key;
    std::uint64_t first = 0;
    std::vector<std::string> rows;  ///< one JSON object each
    bool operator==(const Rows&) const = default;
};

struct Output {
    std::string name;
    Digest digest;  ///< of the uncompressed content
    std::uint64_t size = 0;
    bool operator==(const Output&) const = default;
};

struct Phase {
    std::string name;
    Micros duration{0};
    bool operator==(const Phase&) const = default;
};

/// From the worker's monotonic clock, relative to the arrival of the assignment.
struct Timings {
    Micros started{0};
    Micros ended{0};
    Micros cpu{0};  ///< user + system of the driver and its children during the attempt
    Bytes peak_memory;
    std::vector<Phase> phases;
    bool operator==(const Timings&) const = default;
};

/// The end of one attempt. Kept in the worker's outbox and sent again until acknowledged; its artifacts are in the
/// coordinator's store before it is sent.
struct AttemptResult {
    AttemptKey key;
    Outcome outcome = Outcome::kOk;
    std::string message;  ///< for people, when not ok
    std::string log;      ///< the end of what the driver printed, at most kMaxLogTail bytes
    std::string result;   ///< JSON object, the driver's `result`
    std::vector<Output> outputs;
    std::uint64_t row_count = 0;
    Timings timings;
    bool operator==(const AttemptResult&) const = default;
};

struct Goodbye {
    std::string reason;
    bool operator==(const Goodbye&) const = default;
};

// ---- coordinator → worker ----

struct Welcome {
    std::uint16_t major = kMajor;
    std::uint16_t minor = kMinor;
    std::string farm;
    std::string artifacts;  ///< endpoint of the artifact socket
    Micros heartbeat{1'000'000};
    Micros dead_after{10'000'000};
    bool operator==(const Welcome&) const = default;
};

/// Not accepted (another version, unknown key): the worker stops and says why. With `hello_again` only this connection
/// is unknown, since the coordinator was restarted or had taken the worker for dead: it says hello on a new socket.
struct Refused {
    std::string reason;
    bool hello_again = false;
    bool operator==(const Refused&) const = default;
};

struct Input {
    std::string name;  ///< the driver's name for it
    std::string path;  ///< empty: a file; else the file's name in the directory that the driver gets as `name`
    Digest digest;
    std::uint64_t size = 0;
    bool operator==(const Input&) const = default;
};

struct Item {
    AttemptKey key;
    /// JSON object. Build: {"name":…,"args":{…}} of one kernel (the worker numbers the kernels of its request).
    /// Measure: {"problem":{…},"problem_name":…,"flop":…,"solutions":[names],"seed":n,"budget_us":n}, for the sampling
    /// session. Every other kind: the driver's `args` as they are.
    std::string args;
    bool operator==(const Item&) const = default;
};

/// Work for one slot. Only builds and no-ops carry more than one item; each item ends with its own AttemptResult.
struct Assign {
    TaskKind kind = TaskKind::kSplit;
    std::string toolchain;
    std::string target;
    std::string device;  ///< for measurements
    std::vector<Item> items;
    std::vector<Input> inputs;
    Micros time_limit{0};
    Bytes memory_limit;
    bool operator==(const Assign&) const = default;
};

/// These results are committed (or stale): the worker may forget them.
struct Ack {
    std::vector<AttemptKey> keys;
    bool stale = false;
    bool operator==(const Ack&) const = default;
};

struct Cancel {
    std::vector<AttemptKey> keys;
    std::string reason;
    bool operator==(const Cancel&) const = default;
};

struct CoordinatorHeartbeat {
    std::uint64_t sent = 0;  ///< as in WorkerHeartbeat, the Welcome included
    bool operator==(const CoordinatorHeartbeat&) const = default;
};

/// Finish what runs if `drain`, else stop it; then say Goodbye.
struct Shutdown {
    bool drain = false;
    std::string reason;
    bool operator==(const Shutdown&) const = default;
};

using FromWorker = std::variant<Hello, WorkerHeartbeat, Credit, Rows, AttemptResult, Goodbye>;
using FromCoordinator = std::variant<Welcome, Refused, Assign, Ack, Cancel, CoordinatorHeartbeat, Shutdown>;

inline constexpr std::size_t kMaxControlFrame = 1U << 20;
inline constexpr std::size_t kMaxLogTail = 16U << 10;

}  // namespace tunefarm::protocol
