// SPDX-License-Identifier: MIT
// Handshakes that fail, as ZeroMQ reports them: nobody else learns of a peer that brings no key, the wrong protocol or
// none. Internal to protocol/: includes ZeroMQ.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "protocol/socket_impl.h"

namespace tunefarm::protocol {

/// Used by the thread of the watched socket, which outlives it.
class HandshakeMonitor {
  public:
    /// Before the socket is bound or connected: what happened earlier is not seen.
    static Result<std::unique_ptr<HandshakeMonitor>> attach(RawSocket& watched);
    ~HandshakeMonitor();
    HandshakeMonitor(const HandshakeMonitor&) = delete;
    HandshakeMonitor& operator=(const HandshakeMonitor&) = delete;

    struct Failure {
        std::string peer;    ///< address of the one who connected to a server; empty if it is gone
        std::string reason;  ///< for people
        bool key_refused = false;
    };
    /// Calls for each failure since the last call. Cheap when there is none. Must be called now and then: events wait
    /// in memory, since a full queue would stop ZeroMQ's I/O thread.
    void drain(const std::function<void(const Failure&)>& call);

  private:
    HandshakeMonitor(RawSocket& watched, std::shared_ptr<Context::Impl> context);

    RawSocket& watched_;
    RawSocket events_;
    std::map<int, std::string> peers_;  ///< of accepted connections, by descriptor
    std::unique_ptr<Failure> pending_;  ///< its connection is named by the event that follows
};

}  // namespace tunefarm::protocol
