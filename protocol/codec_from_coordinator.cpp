// SPDX-License-Identifier: MIT
// Coordinator → worker.
#include "protocol/codec.h"
#include "protocol/limits.h"
#include "protocol/wire.h"

namespace tunefarm::protocol {
namespace {

using wire::data_of;
using wire::head_of;
using wire::read_list;
using wire::read_text;
using wire::text_of;
using wire::write_key;
using wire::write_list;

// ---- writing ----

void write(wire::FromCoordinator::Builder root, const Welcome& m) {
    auto out = root.initWelcome();
    out.setMajor(m.major);
    out.setMinor(m.minor);
    out.setFarm(text_of(m.farm));
    out.setArtifacts(text_of(m.artifacts));
    out.setHeartbeat(m.heartbeat.count());
    out.setDeadAfter(m.dead_after.count());
}

void write(wire::FromCoordinator::Builder root, const Refused& m) {
    auto out = root.initRefused();
    out.setReason(text_of(head_of(m.reason, kMaxReason)));
    out.setHelloAgain(m.hello_again);
}

void write(wire::FromCoordinator::Builder root, const Assign& m) {
    auto out = root.initAssign();
    out.setKind(static_cast<wire::TaskKind>(m.kind));
    out.setToolchain(text_of(m.toolchain));
    out.setTarget(text_of(m.target));
    out.setDevice(text_of(m.device));
    write_list(
        m.items, [&](unsigned n) { return out.initItems(n); },
        [](wire::Item::Builder to, const Item& from) {
            write_key(to.initKey(), from.key);
            to.setArgs(text_of(from.args));
        });
    write_list(
        m.inputs, [&](unsigned n) { return out.initInputs(n); },
        [](wire::Input::Builder to, const Input& from) {
            to.setName(text_of(from.name));
            to.setPath(text_of(from.path));
            to.setDigest(data_of(from.digest));
            to.setSize(from.size);
        });
    out.setTimeLimit(m.time_limit.count());
    out.setMemoryLimit(m.memory_limit.count);
}

void write(wire::FromCoordinator::Builder root, const Ack& m) {
    auto out = root.initAck();
    write_list(m.keys, [&](unsigned n) { return out.initKeys(n); }, write_key);
    out.setStale(m.stale);
}

void write(wire::FromCoordinator::Builder root, const Cancel& m) {
    auto out = root.initCancel();
    write_list(m.keys, [&](unsigned n) { return out.initKeys(n); }, write_key);
    out.setReason(text_of(head_of(m.reason, kMaxReason)));
}

void write(wire::FromCoordinator::Builder root, const CoordinatorHeartbeat& m) {
    if (m.sent == 0) {
        root.setHeartbeat();
    } else {
        root.initCountedHeartbeat().setSent(m.sent);
    }
}

void write(wire::FromCoordinator::Builder root, const Shutdown& m) {
    auto out = root.initShutdown();
    out.setDrain(m.drain);
    out.setReason(text_of(head_of(m.reason, kMaxReason)));
}

// ---- reading ----

Welcome read(wire::Welcome::Reader in) {
    Welcome out;
    out.major = in.getMajor();
    out.minor = in.getMinor();
    if (out.major != kMajor || out.minor > kMinor) {
        wire::refuse(ErrorKind::kUnsupported, "the coordinator speaks protocol " + std::to_string(out.major) + "." +
                                                  std::to_string(out.minor) + ", this worker " +
                                                  std::to_string(kMajor) + "." + std::to_string(kMinor) +
                                                  ": install the same tunefarm on both");
    }
    out.farm = read_text(in.getFarm(), kMaxName, "farm");
    out.artifacts = read_text(in.getArtifacts(), kMaxName, "artifacts");
    out.heartbeat = wire::read_micros(in.getHeartbeat(), "heartbeat");
    out.dead_after = wire::read_micros(in.getDeadAfter(), "dead after");
    return out;
}

/// Whether `path` names something below the directory that it is relative to.
bool stays_inside(std::string_view path) {
    if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos) return false;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const std::string_view part = path.substr(0, slash);
        if (part.empty() || part == "." || part == "..") return false;
        path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
        if (slash != std::string_view::npos && path.empty()) return false;
    }
    return true;
}

Input read(wire::Input::Reader in) {
    Input out;
    out.name = read_text(in.getName(), kMaxName, "input name");
    out.path = read_text(in.getPath(), kMaxName, "input path");
    if (!out.path.empty() && !stays_inside(out.path)) {
        wire::refuse(ErrorKind::kCorruption, "input path: leaves its directory");
    }
    out.digest = wire::read_digest(in.getDigest(), "input digest");
    out.size = wire::read_size(in.getSize(), "input size");
    return out;
}

Assign read(wire::Assign::Reader in) {
    Assign out;
    out.kind = wire::read_enum<TaskKind>(in.getKind(), kTaskKinds, "kind");
    out.toolchain = read_text(in.getToolchain(), kMaxName, "toolchain");
    out.target = read_text(in.getTarget(), kMaxName, "target");
    out.device = read_text(in.getDevice(), kMaxName, "device");
    out.items = read_list(in.getItems(), kMaxItems, "items", [](auto from) {
        return Item{wire::read_key(from.getKey()), read_text(from.getArgs(), kMaxJson, "args")};
    });
    out.inputs = read_list(in.getInputs(), kMaxInputs, "inputs", [](auto from) { return read(from); });
    out.time_limit = wire::read_micros(in.getTimeLimit(), "time limit");
    out.memory_limit = wire::read_bytes(in.getMemoryLimit(), "memory limit");
    return out;
}

}  // namespace

std::string encode(const FromCoordinator& message) {
    capnp::MallocMessageBuilder builder;
    auto root = builder.initRoot<wire::FromCoordinator>();
    std::visit([&](const auto& m) { write(root, m); }, message);
    return wire::to_frame(builder);
}

Result<FromCoordinator> decode_from_coordinator(std::string_view frame) {
    FromCoordinator out;
    const Status status = wire::with_message(frame, kMaxControlFrame, [&](capnp::MessageReader& reader) {
        const auto root = reader.getRoot<wire::FromCoordinator>();
        switch (root.which()) {
            case wire::FromCoordinator::WELCOME: out = read(root.getWelcome()); return;
            case wire::FromCoordinator::REFUSED: {
                const auto in = root.getRefused();
                out = Refused{read_text(in.getReason(), kMaxReason, "reason"), in.getHelloAgain()};
                return;
            }
            case wire::FromCoordinator::ASSIGN: out = read(root.getAssign()); return;
            case wire::FromCoordinator::ACK: {
                const auto in = root.getAck();
                out = Ack{read_list(in.getKeys(), kMaxKeys, "keys", wire::read_key), in.getStale()};
                return;
            }
            case wire::FromCoordinator::CANCEL: {
                const auto in = root.getCancel();
                out = Cancel{read_list(in.getKeys(), kMaxKeys, "keys", wire::read_key),
                             read_text(in.getReason(), kMaxReason, "reason")};
                return;
            }
            case wire::FromCoordinator::HEARTBEAT: out = CoordinatorHeartbeat{}; return;
            case wire::FromCoordinator::COUNTED_HEARTBEAT:
                out = CoordinatorHeartbeat{root.getCountedHeartbeat().getSent()};
                return;
            case wire::FromCoordinator::SHUTDOWN: {
                const auto in = root.getShutdown();
                out = Shutdown{in.getDrain(), read_text(in.getReason(), kMaxReason, "reason")};
                return;
            }
            case wire::FromCoordinator::REPLY: break;  // to a client
        }
        wire::refuse(ErrorKind::kUnsupported,
                     "unknown message " + std::to_string(static_cast<unsigned>(root.which())) +
                         " from the coordinator: it is newer than this worker; upgrade the worker");
    });
    TUNEFARM_TRY(status);
    return out;
}

}  // namespace tunefarm::protocol
