// SPDX-License-Identifier: MIT
// What the codecs share. Internal to protocol/: includes Cap'n Proto.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "protocol/limits.h"
#include "protocol/messages.h"
#include "protocol/tunefarm.capnp.h"

namespace tunefarm::protocol::wire {

inline constexpr int kErrorKinds = 10;
static_assert(static_cast<int>(ErrorKind::kInternal) + 1 == kErrorKinds, "extend FailureKind in tunefarm.capnp");

/// Ends the decoding of a frame; with_message() turns it into the Result.
struct Refusal {
    Error error;
};
[[noreturn]] void refuse(ErrorKind kind, const std::string& text);

/// Copies `frame` to aligned words, opens it with this project's limits and calls `body`. Whatever is thrown inside
/// comes back as an Error: Cap'n Proto reports broken pointers only when they are followed, anywhere in `body`.
Status with_message(std::string_view frame, std::size_t max_frame,
                    const std::function<void(capnp::MessageReader&)>& body);

std::string to_frame(capnp::MessageBuilder& builder);

// ---- writing ----

/// The beginning (or the end) of `text`, at most `limit` bytes, not cut inside a UTF-8 sequence.
std::string head_of(const std::string& text, std::size_t limit);
std::string tail_of(const std::string& text, std::size_t limit);
/// Cap'n Proto wants a NUL behind the text, which std::string has and std::string_view has not.
inline capnp::Text::Reader text_of(const std::string& text) {
    return {text.c_str(), text.size()};
}
inline capnp::Data::Reader data_of(const Digest& digest) {
    return {digest.bytes.data(), digest.bytes.size()};
}

inline void write_key(AttemptKey::Builder out, const protocol::AttemptKey& key) {
    out.setAction(key.action.value());
    out.setAttempt(key.attempt);
}

// ---- reading: each refuses the frame when a bound is broken ----

std::string read_text(capnp::Text::Reader text, std::size_t limit, const char* field);
Digest read_digest(capnp::Data::Reader data, const char* field);
Micros read_micros(std::int64_t value, const char* field);
Bytes read_bytes(std::int64_t value, const char* field);
protocol::AttemptKey read_key(AttemptKey::Reader key);
std::uint64_t read_size(std::uint64_t value, const char* field);

template <typename Enum, typename Wire>
Enum read_enum(Wire value, int count, const char* field) {
    const auto number = static_cast<std::uint16_t>(value);
    if (number >= count)
        refuse(ErrorKind::kCorruption, std::string(field) + ": unknown value " + std::to_string(number));
    return static_cast<Enum>(number);
}

/// `read(element)` for each element of a list of at most `limit`.
template <typename List, typename Read>
auto read_list(const List& list, std::size_t limit, const char* field, Read read) {
    if (list.size() > limit) {
        refuse(ErrorKind::kCorruption, std::string(field) + ": has " + std::to_string(list.size()) +
                                           " elements; the limit is " + std::to_string(limit));
    }
    std::vector<std::decay_t<decltype(read(list[0]))>> out;
    out.reserve(list.size());
    for (auto element : list) out.push_back(read(element));
    return out;
}

/// `init` makes a list builder of a given length; `write(builder element, value)` fills it.
template <typename Values, typename Init, typename Write>
void write_list(const Values& values, Init init, Write write) {
    if (values.empty()) return;
    auto list = init(static_cast<unsigned>(values.size()));
    unsigned i = 0;
    for (const auto& value : values) write(list[i++], value);
}

}  // namespace tunefarm::protocol::wire
