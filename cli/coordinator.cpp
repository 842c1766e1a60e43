// SPDX-License-Identifier: MIT
// coordinator: goes on with the unfinished campaigns of a directory, for workers that other hosts or commands start.
#include <csignal>
#include <cstdio>
#include <set>

#include "base/files.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/result_files.h"
#include "coordinator/server/server.h"

namespace tunefarm::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kGoodbyeLimit{2000};

volatile std::sig_atomic_t g_stop = 0;
void on_signal(int) {
    g_stop = 1;
}

Result<server::ServerOptions> server_options(const CoordinatorOptions& options, const std::string& listen) {
    server::ServerOptions out;
    out.directory = options.directory;
    out.insecure = options.insecure;
    TUNEFARM_ASSIGN(out.keys, coordinator_keys(options));
    out.control_endpoint = listen;
    if (listen.starts_with("ipc://")) {
        out.artifacts_endpoint = listen + ".artifacts";
        return out;
    }
    const std::string address = listen.substr(0, listen.rfind(':'));
    if (!address.starts_with("tcp://") || address.size() <= 6) {
        return Error{ErrorKind::kInput, "--listen " + listen + ": not ipc://PATH or tcp://ADDRESS:PORT"};
    }
    // Workers are told the artifact socket's address as it is here.
    if (address == "tcp://*" || address == "tcp://0.0.0.0" || address == "tcp://[::]") {
        return Error{ErrorKind::kInput,
                     "--listen " + listen + ": name the address of this host that workers connect to"};
    }
    out.artifacts_endpoint = address + ":*";
    return out;
}

Status say_ended(server::Server& server, const std::string& directory, CampaignId id) {
    const server::Core& core = server.core();
    const bool good = core.state(id) == schedule::CampaignState::kDone;
    TUNEFARM_TRY(server.flush());
    std::printf("campaign %ld has ended%s\n", id.value(), good ? "" : ": some of it failed");
    for (const std::string& line : core.input_errors(id)) std::printf("  %s\n", line.c_str());
    for (const std::string& line : core.failures(id)) std::printf("  %s\n", line.c_str());
    const auto files = write_result_files(directory, id);
    if (!files.ok()) std::fprintf(stderr, "tunefarm: result files: %s\n", files.error().message.c_str());
    if (files.ok() && !files->empty()) std::printf("  result files are in %s\n", files->c_str());
    std::fflush(stdout);
    return {};
}

/// Workers stop what they run and leave; what they had sent is committed.
Status stop(server::Server& server) {
    server.core().shut_down(false, "the coordinator stops");
    const Clock::time_point limit = Clock::now() + kGoodbyeLimit;
    while (server.core().workers() > 0 && Clock::now() < limit) TUNEFARM_TRY(server.turn(milliseconds(20)));
    return server.flush();
}

Status serve(server::Server& server, const std::string& directory, bool with_keys) {
    TUNEFARM_ASSIGN(const std::vector<std::string> left, server.take_up_open_campaigns());
    for (const std::string& line : left) std::fprintf(stderr, "tunefarm: %s\n", line.c_str());
    std::printf("listening; on each host: tunefarm worker --connect %s --state DIR --slots N%s\n",
                server.control_endpoint().c_str(), with_keys ? " --key NAME.key --server-key FARM.pub" : "");
    std::fflush(stdout);
    std::set<CampaignId> running;
    while (g_stop == 0) {
        TUNEFARM_TRY(server.turn(milliseconds(100)));
        for (const server::Submitted& begun : server.take_begun()) {
            std::printf("campaign %ld %s\n", begun.campaign.value(),
                        begun.resumed ? "goes on where it stopped" : "begins");
            std::fflush(stdout);
            running.insert(begun.campaign);
        }
        for (auto it = running.begin(); it != running.end();) {
            if (server.core().state(*it) <= schedule::CampaignState::kRunning) {
                ++it;
                continue;
            }
            TUNEFARM_TRY(say_ended(server, directory, *it));
            it = running.erase(it);
        }
    }
    return stop(server);
}

}  // namespace

int coordinator(const CoordinatorOptions& options) {
    log::start("coordinator", log::Level::kInfo);
    std::string listen = options.listen;
    std::string sockets;
    if (listen.empty()) {
        auto made = make_temporary_directory("/tmp/tunefarm-");
        if (!made.ok()) return fail(made.error());
        sockets = *made;
        listen = "ipc://" + sockets + "/control";
    }
    const auto chosen = server_options(options, listen);
    if (!chosen.ok()) return fail(chosen.error());
    struct sigaction action{};
    action.sa_handler = on_signal;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    Status ended;
    {
        auto server = server::Server::start(*chosen);
        ended = server.ok() ? serve(**server, options.directory, chosen->keys.has_value())
                            : Status(server.error().in(options.directory));
    }
    if (!sockets.empty()) static_cast<void>(remove_tree(sockets));
    return ended.ok() ? kExitOk : fail(ended.error());
}

}  // namespace tunefarm::cli
