// SPDX-License-Identifier: MIT
// One message of each kind with every field set to something that is not its default.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "protocol/artifact_messages.h"
#include "protocol/messages.h"

namespace tunefarm::protocol::samples {

inline Digest digest_of(std::uint8_t first) {
    Digest digest;
    for (std::uint8_t i = 0; i < 32; ++i) digest.bytes[i] = static_cast<std::uint8_t>(first + i);
    return digest;
}

inline AttemptKey key(std::int64_t action, std::uint32_t attempt) {
    return {ActionId{action}, attempt};
}

inline WorkerHeartbeat worker_heartbeat() {
    WorkerHeartbeat heartbeat;
    heartbeat.running = {key(8, 3)};
    heartbeat.account.wall = Micros{1'000'001};
    heartbeat.account.slots = 4;
    for (std::size_t i = 0; i < heartbeat.account.busy.size(); ++i) {
        heartbeat.account.busy[i] = Micros{static_cast<std::int64_t>(100 + i)};
    }
    heartbeat.account.idle = {{"no work", Micros{5}}, {"memory", Micros{6}}};
    return heartbeat;
}

inline std::vector<std::pair<std::string, FromWorker>> from_worker() {
    Hello hello;
    hello.minor = 0;  // of the release that wrote the golden bytes
    for (std::uint8_t i = 0; i < 16; ++i) hello.boot[i] = static_cast<std::uint8_t>(i + 1);
    hello.host = "node17";
    hello.slots = 12;
    hello.memory = Bytes{std::int64_t{64} << 30};
    hello.capabilities = {{"gemm", TaskKind::kBuild, "gfx950", digest_of(3)},
                          {"tensilelite", TaskKind::kNoop, "*", digest_of(9)}};
    hello.devices = {{"gpu0", "gfx942", "Instinct MI300X", R"({"cu":304})", true, 2}};
    hello.missing = {{"gemm", "gfx950", "clang-22 not found: install the package clang-22"}};
    hello.running = {key(7, 1), key((std::int64_t{1} << 40) + 3, 2)};

    WorkerHeartbeat heartbeat = worker_heartbeat();
    heartbeat.sent = 42;

    AttemptResult result;
    result.key = key(11, 4);
    result.outcome = Outcome::kUnsupported;
    result.message = "line 3: no such register";
    result.log = "kernel.s:3: error\n";
    result.result = R"({"kernels":2})";
    result.outputs = {{"code object", digest_of(40), 123456789}, {"log", digest_of(80), 0}};
    result.row_count = 17;
    result.timings = {
        Micros{10}, Micros{2000}, Micros{1900}, Bytes{1 << 20}, {{"generate", Micros{7}}, {"link", Micros{9}}}};

    return {{"hello", hello},
            {"worker_heartbeat_counted", heartbeat},
            {"credit", Credit{3, Bytes{4096}, "disk full"}},
            {"rows", Rows{key(5, 6), 70, {R"({"us":1.5})", R"({"us":1.6})"}}},
            {"attempt_result", result},
            {"goodbye", Goodbye{"drained"}}};
}

inline std::vector<std::pair<std::string, FromCoordinator>> from_coordinator() {
    Welcome welcome;
    welcome.minor = 0;  // as in Hello
    welcome.farm = "gridfarm";
    welcome.artifacts = "tcp://10.0.0.1:7718";
    welcome.heartbeat = Micros{500'000};
    welcome.dead_after = Micros{5'000'000};

    Assign assign;
    assign.kind = TaskKind::kMeasure;
    assign.toolchain = "gemm";
    assign.target = "x86-64-v4";
    assign.device = "cpu";
    assign.items = {{key(21, 1), R"({"kernel":"a"})"}, {key(22, 2), "{}"}};
    assign.inputs = {{"library", "kernels/a.so", digest_of(120), 4711}, {"config", "", digest_of(121), 12}};
    assign.time_limit = Micros{60'000'000};
    assign.memory_limit = Bytes{std::int64_t{2} << 30};

    return {{"welcome", welcome},
            {"refused", Refused{"another major version", true}},
            {"assign", assign},
            {"ack", Ack{{key(1, 2), key(3, 4)}, true}},
            {"cancel", Cancel{{key(9, 9)}, "campaign cancelled"}},
            {"coordinator_heartbeat_counted", CoordinatorHeartbeat{42}},
            {"shutdown", Shutdown{true, "upgrade"}}};
}

/// Forms that earlier versions wrote: they are read for ever.
inline std::vector<std::pair<std::string, FromWorker>> earlier_from_worker() {
    return {{"worker_heartbeat", worker_heartbeat()}};
}
inline std::vector<std::pair<std::string, FromCoordinator>> earlier_from_coordinator() {
    return {{"coordinator_heartbeat", CoordinatorHeartbeat{}}};
}

inline std::vector<std::pair<std::string, ArtifactRequest>> artifact_requests() {
    return {{"get", Get{1, digest_of(1), 1 << 20, 4096, true}},
            {"find_missing", FindMissing{2, {digest_of(2), digest_of(3)}}},
            {"put", Put{3, digest_of(4), 999, 100, 50, ChunkCodec::kZstd}}};
}

inline std::vector<std::pair<std::string, ArtifactReply>> artifact_replies() {
    return {{"chunk", Chunk{4, 77, 1234, 88, ChunkCodec::kZstd}},
            {"missing", MissingReply{5, {digest_of(6)}}},
            {"put_status", PutStatus{6, 50, true, true}},
            {"not_found", NotFound{7}},
            {"failed", Failed{8, ErrorKind::kNoSpace, "disk full"}}};
}

}  // namespace tunefarm::protocol::samples
