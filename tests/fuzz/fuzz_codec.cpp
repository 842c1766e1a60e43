// SPDX-License-Identifier: MIT
// No bytes from a socket may crash a decoder, and what a decoder accepts must survive encoding and decoding again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/artifact_messages.h"
#include "protocol/client_messages.h"
#include "protocol/codec.h"

namespace {

template <typename Message, typename Decode>
void check(const tunefarm::Result<Message>& decoded, Decode decode) {
    if (!decoded.ok()) return;
    const auto again = decode(tunefarm::protocol::encode(*decoded));
    if (!again.ok() || !(*again == *decoded)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tunefarm::protocol;
    if (size == 0) return 0;
    // The first byte chooses the decoder; the frame then starts at an odd address, as ZeroMQ's may.
    const std::string_view frame(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 7) {
        case 0: check(decode_from_worker(frame), decode_from_worker); break;
        case 1: check(decode_from_coordinator(frame), decode_from_coordinator); break;
        case 2: check(decode_artifact_request(frame), decode_artifact_request); break;
        case 3: check(decode_artifact_reply(frame), decode_artifact_reply); break;
        case 4: {
            const auto decoded = decode_to_coordinator(frame);
            if (!decoded.ok() || !std::holds_alternative<ClientRequest>(*decoded)) break;
            const auto again = decode_to_coordinator(encode(std::get<ClientRequest>(*decoded)));
            if (!again.ok() || !(*again == *decoded)) std::abort();
            break;
        }
        case 5: check(decode_client_reply(frame), decode_client_reply); break;
        default: (void)unpack_chunk(frame, ChunkCodec::kZstd, 4096); break;
    }
    return 0;
}
