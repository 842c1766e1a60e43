// SPDX-License-Identifier: MIT
#include "protocol/client_messages.h"

#include "protocol/codec.h"
#include "protocol/limits.h"
#include "protocol/wire.h"

namespace tunefarm::protocol {
namespace {

using wire::text_of;

// ---- writing ----

void write(wire::ClientRequest::Builder root, const ExplainTasks& m) {
    auto out = root.initExplain();
    out.setCampaign(m.campaign.value());
    out.setStep(m.step.value_or(-1));
    out.setKind(m.kind ? static_cast<std::int32_t>(*m.kind) : -1);
    out.setIndex(m.index.value_or(-1));
}

void write(wire::ClientRequest::Builder root, const CancelCampaign& m) {
    root.initCancel().setId(m.campaign.value());
}

void write(wire::ClientRequest::Builder root, const CampaignProgress& m) {
    root.initProgress().setId(m.campaign.value());
}

void write(wire::ClientRequest::Builder root, const SubmitCampaign& m) {
    auto out = root.initSubmit();
    out.setName(text_of(m.name));
    auto targets = out.initTargets(static_cast<unsigned>(m.targets.size()));
    for (unsigned i = 0; i < m.targets.size(); ++i) targets.set(i, text_of(m.targets[i]));
    out.setBuildOnly(m.build_only);
    out.setPriority(m.priority);
    wire::write_list(
        m.configs, [&](unsigned n) { return out.initConfigs(n); },
        [](wire::SubmittedConfig::Builder to, const SubmitCampaign::Config& from) {
            to.setPath(text_of(from.path));
            to.setContent(wire::data_of(from.content));
        });
}

void write(wire::ClientRequest::Builder root, const RetryCampaign& m) {
    auto out = root.initRetry();
    out.setCampaign(m.campaign.value());
    out.setForget(m.forget);
}

// ---- reading ----

CampaignId read_campaign(std::int64_t id) {
    if (id < 0) wire::refuse(ErrorKind::kCorruption, "campaign: negative id");
    return CampaignId(id);
}

/// -1 is none.
std::optional<std::int32_t> read_optional(std::int32_t value, const char* field) {
    if (value < -1) wire::refuse(ErrorKind::kCorruption, std::string(field) + ": negative number");
    return value == -1 ? std::nullopt : std::optional(value);
}

ExplainTasks read(wire::ClientRequest::Explain::Reader in) {
    ExplainTasks out;
    out.campaign = read_campaign(in.getCampaign());
    out.step = read_optional(in.getStep(), "step");
    if (const auto kind = read_optional(in.getKind(), "kind")) {
        if (*kind >= kTaskKinds) {
            wire::refuse(ErrorKind::kCorruption, "kind: unknown value " + std::to_string(*kind));
        }
        out.kind = static_cast<TaskKind>(*kind);
    }
    out.index = read_optional(in.getIndex(), "index");
    return out;
}

SubmitCampaign read(wire::ClientRequest::Submit::Reader in) {
    SubmitCampaign out;
    out.name = wire::read_text(in.getName(), kMaxName, "name");
    out.targets = wire::read_list(in.getTargets(), kMaxTargets, "targets",
                                  [](capnp::Text::Reader text) { return wire::read_text(text, kMaxName, "target"); });
    out.build_only = in.getBuildOnly();
    out.priority = in.getPriority();
    out.configs = wire::read_list(in.getConfigs(), kMaxConfigs, "configs", [](auto from) {
        return SubmitCampaign::Config{wire::read_text(from.getPath(), kMaxName, "path"),
                                      wire::read_digest(from.getContent(), "content")};
    });
    return out;
}

ClientRequest read(wire::ClientRequest::Reader in) {
    ClientRequest out;
    out.request = in.getRequest();
    switch (in.which()) {
        case wire::ClientRequest::EXPLAIN: out.what = read(in.getExplain()); return out;
        case wire::ClientRequest::CANCEL: out.what = CancelCampaign{read_campaign(in.getCancel().getId())}; return out;
        case wire::ClientRequest::PROGRESS:
            out.what = CampaignProgress{read_campaign(in.getProgress().getId())};
            return out;
        case wire::ClientRequest::SUBMIT: out.what = read(in.getSubmit()); return out;
        case wire::ClientRequest::RETRY:
            out.what = RetryCampaign{read_campaign(in.getRetry().getCampaign()), in.getRetry().getForget()};
            return out;
    }
    wire::refuse(ErrorKind::kUnsupported, "unknown request " + std::to_string(static_cast<unsigned>(in.which())) +
                                              " of a client: it is newer than this coordinator; upgrade the "
                                              "coordinator");
}

ClientReply read(wire::ClientReply::Reader in) {
    ClientReply out;
    out.request = in.getRequest();
    switch (in.which()) {
        case wire::ClientReply::ANSWER:
            out.ok = true;
            out.answer = wire::read_text(in.getAnswer(), kMaxJson, "answer");
            return out;
        case wire::ClientReply::FAILED: {
            const auto failed = in.getFailed();
            out.kind = wire::read_enum<ErrorKind>(failed.getKind(), wire::kErrorKinds, "kind");
            out.message = wire::read_text(failed.getMessage(), kMaxReason, "message");
            return out;
        }
    }
    wire::refuse(ErrorKind::kUnsupported, "unknown reply: the coordinator is newer than this command; upgrade it here");
}

}  // namespace

std::string encode(const ClientRequest& request) {
    capnp::MallocMessageBuilder builder;
    auto root = builder.initRoot<wire::FromWorker>().initClient();
    root.setRequest(request.request);
    std::visit([&](const auto& m) { write(root, m); }, request.what);
    return wire::to_frame(builder);
}

std::string encode(const ClientReply& reply) {
    capnp::MallocMessageBuilder builder;
    auto root = builder.initRoot<wire::FromCoordinator>().initReply();
    root.setRequest(reply.request);
    if (reply.ok) {
        root.setAnswer(text_of(reply.answer));
    } else {
        auto failed = root.initFailed();
        failed.setKind(static_cast<wire::FailureKind>(reply.kind));
        failed.setMessage(text_of(wire::head_of(reply.message, kMaxReason)));
    }
    return wire::to_frame(builder);
}

Result<ToCoordinator> decode_to_coordinator(std::string_view frame) {
    // Nearly all frames are workers': only those that are not are read twice.
    auto message = decode_from_worker(frame);
    if (message.ok()) return ToCoordinator(std::move(message).value());
    if (message.error().kind != ErrorKind::kUnsupported) return message.error();
    std::optional<ClientRequest> request;
    const Status status = wire::with_message(frame, kMaxControlFrame, [&](capnp::MessageReader& reader) {
        const auto root = reader.getRoot<wire::FromWorker>();
        if (root.isClient()) request = read(root.getClient());
    });
    TUNEFARM_TRY(status);
    if (!request) return message.error();
    return ToCoordinator(*std::move(request));
}

Result<ClientReply> decode_client_reply(std::string_view frame) {
    ClientReply out;
    const Status status = wire::with_message(frame, kMaxControlFrame, [&](capnp::MessageReader& reader) {
        const auto root = reader.getRoot<wire::FromCoordinator>();
        if (root.isRefused()) {
            wire::refuse(ErrorKind::kUnsupported, wire::read_text(root.getRefused().getReason(), kMaxReason, "reason"));
        }
        if (!root.isReply()) wire::refuse(ErrorKind::kCorruption, "not a reply to a client");
        out = read(root.getReply());
    });
    TUNEFARM_TRY(status);
    return out;
}

}  // namespace tunefarm::protocol
