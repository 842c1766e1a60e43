// SPDX-License-Identifier: MIT
// JSON of other programs, read without building a tree: one pass checks the text (RFC 8259, UTF-8, no key twice in one
// object, nesting bounded) and notes where each value begins and ends. Values are views: the text and the tape must
// outlive them, where they are. Ten times as fast as a document tree, for texts that come by the thousand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tunefarm {

class JsonTape;

/// A value of a tape, or nothing: what find() returns for an absent key.
class JsonValue {
  public:
    JsonValue() = default;
    explicit operator bool() const { return tape_ != nullptr; }

    bool is_null() const;
    bool is_object() const;
    bool is_array() const;
    bool is_string() const;
    bool is_number() const;

    /// The text as it was written.
    std::string_view raw() const;
    /// The same value with sorted keys and without spaces: equal values written in different orders are equal texts.
    std::string canonical() const;
    /// Precondition: is_string().
    std::string text() const;
    /// None if it is no whole number of 64 bits, written as one.
    std::optional<std::int64_t> integer() const;
    /// Precondition: is_number().
    double number() const;

    /// The member with this key, nothing if there is none or this is no object.
    JsonValue find(std::string_view key) const;
    /// Calls each(std::string key, JsonValue). Precondition: is_object().
    template <typename Each>
    void each_member(Each each) const {
        for (std::uint32_t at = index_ + 1; at < after(index_); at = after(at + 1))
            each(at_index(at).text(), at_index(at + 1));
    }
    /// Calls each(JsonValue). Precondition: is_array().
    template <typename Each>
    void each_element(Each each) const {
        for (std::uint32_t at = index_ + 1; at < after(index_); at = after(at)) each(at_index(at));
    }

  private:
    friend class JsonTape;
    friend class JsonReader;
    static double number_of(std::string_view digits);
    JsonValue(const JsonTape* tape, std::uint32_t index) : tape_(tape), index_(index) {}
    std::uint32_t after(std::uint32_t index) const;
    JsonValue at_index(std::uint32_t index) const { return {tape_, index}; }

    const JsonTape* tape_ = nullptr;
    std::uint32_t index_ = 0;
};

class JsonTape {
  public:
    /// kCorruption: what is wrong, and at which byte.
    static Result<JsonTape> parse(std::string_view text, int max_nesting = 64);
    JsonValue root() const { return {this, 0}; }

  private:
    friend class JsonValue;
    friend class JsonReader;
    enum class Kind : std::uint8_t { kNull, kTrue, kFalse, kInteger, kReal, kString, kArray, kObject };
    /// In the order of the text: a container, then what is in it; a member is its key, then its value.
    struct Node {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        std::uint32_t next = 0;  ///< index of the first node that does not belong to this value
        Kind kind = Kind::kNull;
        bool canonical = true;  ///< raw() is canonical(); a string: no escapes
    };
    std::string_view text_;
    std::vector<Node> nodes_;
};

inline std::uint32_t JsonValue::after(std::uint32_t index) const {
    return tape_->nodes_[index].next;
}

}  // namespace tunefarm
