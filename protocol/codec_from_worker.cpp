// SPDX-License-Identifier: MIT
// Worker → coordinator.
#include <algorithm>

#include "protocol/codec.h"
#include "protocol/limits.h"
#include "protocol/wire.h"

namespace tunefarm::protocol {
namespace {

using wire::data_of;
using wire::head_of;
using wire::read_list;
using wire::read_text;
using wire::tail_of;
using wire::text_of;
using wire::write_key;
using wire::write_list;

// ---- writing ----

void write(wire::FromWorker::Builder root, const Hello& m) {
    auto out = root.initHello();
    out.setMajor(m.major);
    out.setMinor(m.minor);
    out.setBoot({m.boot.data(), m.boot.size()});
    out.setHost(text_of(m.host));
    out.setSlots(m.slots);
    out.setMemory(m.memory.count);
    write_list(
        m.capabilities, [&](unsigned n) { return out.initCapabilities(n); },
        [](wire::Capability::Builder to, const Capability& from) {
            to.setToolchain(text_of(from.toolchain));
            to.setVerb(static_cast<wire::TaskKind>(from.verb));
            to.setTarget(text_of(from.target));
            to.setFingerprint(data_of(from.fingerprint));
        });
    write_list(
        m.devices, [&](unsigned n) { return out.initDevices(n); },
        [](wire::Device::Builder to, const Device& from) {
            to.setId(text_of(from.id));
            to.setTarget(text_of(from.target));
            to.setDescription(text_of(from.description));
            to.setFacts(text_of(from.facts));
            to.setSimulated(from.simulated);
            to.setSlots(from.slots);
        });
    write_list(
        m.missing, [&](unsigned n) { return out.initMissing(n); },
        [](wire::Missing::Builder to, const Missing& from) {
            to.setToolchain(text_of(from.toolchain));
            to.setTarget(text_of(from.target));
            to.setReason(text_of(head_of(from.reason, kMaxReason)));
        });
    write_list(m.running, [&](unsigned n) { return out.initRunning(n); }, write_key);
}

void write(wire::FromWorker::Builder root, const WorkerHeartbeat& m) {
    auto out = root.initHeartbeat();
    out.setSent(m.sent);
    write_list(m.running, [&](unsigned n) { return out.initRunning(n); }, write_key);
    auto account = out.initAccount();
    account.setWall(m.account.wall.count());
    account.setSlots(m.account.slots);
    auto busy = account.initBusy(static_cast<unsigned>(m.account.busy.size()));
    for (unsigned i = 0; i < m.account.busy.size(); ++i) busy.set(i, m.account.busy[i].count());
    write_list(
        m.account.idle, [&](unsigned n) { return account.initIdle(n); },
        [](wire::SlotAccount::Idle::Builder to, const std::pair<std::string, Micros>& from) {
            to.setReason(text_of(from.first));
            to.setDuration(from.second.count());
        });
}

void write(wire::FromWorker::Builder root, const Credit& m) {
    auto out = root.initCredit();
    out.setSlots(m.slots);
    out.setMemory(m.memory.count);
    out.setReason(text_of(head_of(m.reason, kMaxReason)));
}

void write(wire::FromWorker::Builder root, const Rows& m) {
    auto out = root.initRows();
    write_key(out.initKey(), m.key);
    out.setFirst(m.first);
    auto rows = out.initRows(static_cast<unsigned>(m.rows.size()));
    for (unsigned i = 0; i < m.rows.size(); ++i) rows.set(i, text_of(m.rows[i]));
}

void write(wire::FromWorker::Builder root, const AttemptResult& m) {
    auto out = root.initResult();
    write_key(out.initKey(), m.key);
    out.setOutcome(static_cast<wire::Outcome>(m.outcome));
    out.setMessage(text_of(head_of(m.message, kMaxReason)));
    out.setLog(text_of(tail_of(m.log, kMaxLogTail)));
    out.setResult(text_of(m.result));
    write_list(
        m.outputs, [&](unsigned n) { return out.initOutputs(n); },
        [](wire::Output::Builder to, const Output& from) {
            to.setName(text_of(from.name));
            to.setDigest(data_of(from.digest));
            to.setSize(from.size);
        });
    out.setRowCount(m.row_count);
    auto timings = out.initTimings();
    timings.setStarted(m.timings.started.count());
    timings.setEnded(m.timings.ended.count());
    timings.setCpu(m.timings.cpu.count());
    timings.setPeakMemory(m.timings.peak_memory.count);
    write_list(
        m.timings.phases, [&](unsigned n) { return timings.initPhases(n); },
        [](wire::Phase::Builder to, const Phase& from) {
            to.setName(text_of(from.name));
            to.setDuration(from.duration.count());
        });
}

void write(wire::FromWorker::Builder root, const Goodbye& m) {
    root.initGoodbye().setReason(text_of(head_of(m.reason, kMaxReason)));
}

// ---- reading ----

Hello read(wire::Hello::Reader in) {
    Hello out;
    out.major = in.getMajor();
    out.minor = in.getMinor();
    if (out.major != kMajor || out.minor > kMinor) {
        wire::refuse(ErrorKind::kUnsupported, "the worker speaks protocol " + std::to_string(out.major) + "." +
                                                  std::to_string(out.minor) + ", the coordinator " +
                                                  std::to_string(kMajor) + "." + std::to_string(kMinor) +
                                                  ": install the same tunefarm on both, the coordinator first");
    }
    const auto boot = in.getBoot();
    if (boot.size() != out.boot.size()) wire::refuse(ErrorKind::kCorruption, "hello: a boot id has 16 bytes");
    std::copy(boot.begin(), boot.end(), out.boot.begin());
    out.host = read_text(in.getHost(), kMaxName, "host");
    out.slots = in.getSlots();
    out.memory = wire::read_bytes(in.getMemory(), "memory");
    out.capabilities = read_list(in.getCapabilities(), kMaxCapabilities, "capabilities", [](auto from) {
        Capability to;
        to.toolchain = read_text(from.getToolchain(), kMaxName, "toolchain");
        to.verb = wire::read_enum<TaskKind>(from.getVerb(), kTaskKinds, "verb");
        to.target = read_text(from.getTarget(), kMaxName, "target");
        to.fingerprint = wire::read_digest(from.getFingerprint(), "fingerprint");
        return to;
    });
    out.devices = read_list(in.getDevices(), kMaxDevices, "devices", [](auto from) {
        Device to;
        to.id = read_text(from.getId(), kMaxName, "device id");
        to.target = read_text(from.getTarget(), kMaxName, "target");
        to.description = read_text(from.getDescription(), kMaxName, "description");
        to.facts = read_text(from.getFacts(), kMaxJson, "facts");
        to.simulated = from.getSimulated();
        to.slots = from.getSlots();
        return to;
    });
    out.missing = read_list(in.getMissing(), kMaxMissing, "missing", [](auto from) {
        return Missing{read_text(from.getToolchain(), kMaxName, "toolchain"),
                       read_text(from.getTarget(), kMaxName, "target"),
                       read_text(from.getReason(), kMaxReason, "reason")};
    });
    out.running = read_list(in.getRunning(), kMaxKeys, "running", wire::read_key);
    return out;
}

WorkerHeartbeat read(wire::WorkerHeartbeat::Reader in) {
    WorkerHeartbeat out;
    out.sent = in.getSent();
    out.running = read_list(in.getRunning(), kMaxKeys, "running", wire::read_key);
    const auto account = in.getAccount();
    out.account.wall = wire::read_micros(account.getWall(), "wall");
    out.account.slots = account.getSlots();
    const auto busy = read_list(account.getBusy(), out.account.busy.size(), "busy",
                                [](std::int64_t micros) { return wire::read_micros(micros, "busy"); });
    std::copy(busy.begin(), busy.end(), out.account.busy.begin());
    out.account.idle = read_list(account.getIdle(), kMaxIdleReasons, "idle", [](auto from) {
        return std::pair{read_text(from.getReason(), kMaxName, "reason"),
                         wire::read_micros(from.getDuration(), "idle")};
    });
    return out;
}

Credit read(wire::Credit::Reader in) {
    return {in.getSlots(), wire::read_bytes(in.getMemory(), "memory"), read_text(in.getReason(), kMaxReason, "reason")};
}

Rows read(wire::Rows::Reader in) {
    Rows out;
    out.key = wire::read_key(in.getKey());
    out.first = in.getFirst();
    out.rows = read_list(in.getRows(), kMaxRows, "rows",
                         [](capnp::Text::Reader row) { return read_text(row, kMaxRow, "row"); });
    return out;
}

AttemptResult read(wire::AttemptResult::Reader in) {
    AttemptResult out;
    out.key = wire::read_key(in.getKey());
    out.outcome = wire::read_enum<Outcome>(in.getOutcome(), kOutcomes, "outcome");
    out.message = read_text(in.getMessage(), kMaxReason, "message");
    out.log = read_text(in.getLog(), kMaxLogTail, "log");
    out.result = read_text(in.getResult(), kMaxJson, "result");
    out.outputs = read_list(in.getOutputs(), kMaxOutputs, "outputs", [](auto from) {
        return Output{read_text(from.getName(), kMaxName, "output name"),
                      wire::read_digest(from.getDigest(), "output digest"),
                      wire::read_size(from.getSize(), "output size")};
    });
    out.row_count = in.getRowCount();
    const auto timings = in.getTimings();
    out.timings.started = wire::read_micros(timings.getStarted(), "started");
    out.timings.ended = wire::read_micros(timings.getEnded(), "ended");
    out.timings.cpu = wire::read_micros(timings.getCpu(), "cpu");
    out.timings.peak_memory = wire::read_bytes(timings.getPeakMemory(), "peak memory");
    out.timings.phases = read_list(timings.getPhases(), kMaxPhases, "phases", [](auto from) {
        return Phase{read_text(from.getName(), kMaxName, "phase"), wire::read_micros(from.getDuration(), "phase")};
    });
    return out;
}

}  // namespace

std::string encode(const FromWorker& message) {
    capnp::MallocMessageBuilder builder;
    auto root = builder.initRoot<wire::FromWorker>();
    std::visit([&](const auto& m) { write(root, m); }, message);
    return wire::to_frame(builder);
}

Result<FromWorker> decode_from_worker(std::string_view frame) {
    FromWorker out;
    const Status status = wire::with_message(frame, kMaxControlFrame, [&](capnp::MessageReader& reader) {
        const auto root = reader.getRoot<wire::FromWorker>();
        switch (root.which()) {
            case wire::FromWorker::HELLO: out = read(root.getHello()); return;
            case wire::FromWorker::HEARTBEAT: out = read(root.getHeartbeat()); return;
            case wire::FromWorker::CREDIT: out = read(root.getCredit()); return;
            case wire::FromWorker::ROWS: out = read(root.getRows()); return;
            case wire::FromWorker::RESULT: out = read(root.getResult()); return;
            case wire::FromWorker::GOODBYE:
                out = Goodbye{read_text(root.getGoodbye().getReason(), kMaxReason, "reason")};
                return;
            case wire::FromWorker::CLIENT: wire::refuse(ErrorKind::kUnsupported, "a client's request, not a worker's");
        }
        wire::refuse(ErrorKind::kUnsupported,
                     "unknown message " + std::to_string(static_cast<unsigned>(root.which())) +
                         " from a worker: it is newer than this coordinator; upgrade the coordinator");
    });
    TUNEFARM_TRY(status);
    return out;
}

Status check_frame(std::string_view from_worker) {
    const auto decoded = decode_from_worker(from_worker);
    if (decoded.ok()) return {};
    return Error{ErrorKind::kInput, decoded.error().message};
}

}  // namespace tunefarm::protocol
