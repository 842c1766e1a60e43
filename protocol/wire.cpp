// SPDX-License-Identifier: MIT
#include "protocol/wire.h"

#include <algorithm>
#include <cstring>
#include <exception>

namespace tunefarm::protocol::wire {
namespace {

/// Structures here nest at most 5 deep (message, result, timings, phases, name); 16 leaves room for later versions.
constexpr int kNesting = 16;
/// Every pointer that is followed counts against the traversal limit, so that many pointers to one large object cannot
/// make a small frame a large message. Honest frames are read about once.
constexpr std::uint64_t kTraversalFactor = 8;
constexpr std::uint64_t kTraversalExtra = 1024;

bool continues_utf8(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

Error corrupt(const std::string& text) {
    return Error{ErrorKind::kCorruption, text};
}

}  // namespace

void refuse(ErrorKind kind, const std::string& text) {
    throw Refusal{Error{kind, text}};
}

Status with_message(std::string_view frame, std::size_t max_frame,
                    const std::function<void(capnp::MessageReader&)>& body) {
    if (frame.empty()) return corrupt("empty frame");
    if (frame.size() > max_frame) {
        return corrupt("frame of " + std::to_string(frame.size()) + " bytes; the limit is " +
                       std::to_string(max_frame));
    }
    if (frame.size() % sizeof(capnp::word) != 0) return corrupt("frame is not a whole number of words");
    // A received frame may start at any address; Cap'n Proto reads words in place.
    const std::size_t words = frame.size() / sizeof(capnp::word);
    auto aligned = kj::heapArray<capnp::word>(words);
    std::memcpy(aligned.begin(), frame.data(), frame.size());
    try {
        capnp::ReaderOptions options;
        options.traversalLimitInWords = kTraversalFactor * words + kTraversalExtra;
        options.nestingLimit = kNesting;
        capnp::FlatArrayMessageReader reader(aligned, options);
        if (reader.getEnd() != aligned.end()) return corrupt("bytes after the end of the message");
        body(reader);
        return {};
    } catch (const Refusal& refusal) {
        return refusal.error;
    } catch (const kj::Exception& exception) {
        return corrupt(std::string("not a message: ") + exception.getDescription().cStr());
    } catch (const std::exception& exception) {
        return corrupt(std::string("not a message: ") + exception.what());
    }
}

std::string to_frame(capnp::MessageBuilder& builder) {
    const kj::Array<capnp::word> words = capnp::messageToFlatArray(builder);
    const auto bytes = words.asBytes();
    std::string frame(bytes.size(), '\0');
    std::memcpy(frame.data(), bytes.begin(), bytes.size());
    return frame;
}

std::string head_of(const std::string& text, std::size_t limit) {
    if (text.size() <= limit) return text;
    std::size_t end = limit;
    while (end > 0 && end + 3 > limit && continues_utf8(text[end])) --end;
    return text.substr(0, end);
}

std::string tail_of(const std::string& text, std::size_t limit) {
    if (text.size() <= limit) return text;
    std::size_t begin = text.size() - limit;
    const std::size_t last = std::min(text.size(), begin + 3);
    while (begin < last && continues_utf8(text[begin])) ++begin;
    return text.substr(begin);
}

std::string read_text(capnp::Text::Reader text, std::size_t limit, const char* field) {
    if (text.size() > limit) {
        refuse(ErrorKind::kCorruption, std::string(field) + ": has " + std::to_string(text.size()) +
                                           " bytes; the limit is " + std::to_string(limit));
    }
    return std::string(text.begin(), text.size());
}

Digest read_digest(capnp::Data::Reader data, const char* field) {
    Digest digest;
    if (data.size() != digest.bytes.size()) {
        refuse(ErrorKind::kCorruption,
               std::string(field) + ": a digest has 32 bytes, not " + std::to_string(data.size()));
    }
    std::copy(data.begin(), data.end(), digest.bytes.begin());
    return digest;
}

Micros read_micros(std::int64_t value, const char* field) {
    if (value < 0) refuse(ErrorKind::kCorruption, std::string(field) + ": negative duration");
    return Micros{value};
}

Bytes read_bytes(std::int64_t value, const char* field) {
    if (value < 0) refuse(ErrorKind::kCorruption, std::string(field) + ": negative number of bytes");
    return Bytes{value};
}

std::uint64_t read_size(std::uint64_t value, const char* field) {
    if (value > kMaxArtifact) refuse(ErrorKind::kCorruption, std::string(field) + ": larger than any artifact may be");
    return value;
}

protocol::AttemptKey read_key(AttemptKey::Reader key) {
    const std::int64_t action = key.getAction();
    if (action < 0) refuse(ErrorKind::kCorruption, "attempt key: negative action");
    return {ActionId{action}, key.getAttempt()};
}

}  // namespace tunefarm::protocol::wire
