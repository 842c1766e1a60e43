// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4) through OpenSSL's EVP: names of artifacts and keys of actions.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tunefarm {

/// Two lower-case hexadecimal digits per byte.
std::string to_hex(std::span<const std::uint8_t> bytes);

struct Digest {
    std::array<std::uint8_t, 32> bytes{};

    auto operator<=>(const Digest&) const = default;
    bool is_zero() const { return *this == Digest{}; }
    /// 64 lower-case hexadecimal digits.
    std::string hex() const;
    /// nullopt unless exactly 64 lower-case hexadecimal digits.
    static std::optional<Digest> from_hex(std::string_view hex);
};

/// For hash tables: the bytes are as good as random already.
struct DigestHash {
    std::size_t operator()(const Digest& digest) const {
        std::size_t value = 0;
        std::memcpy(&value, digest.bytes.data(), sizeof value);
        return value;
    }
};

/// Incremental SHA-256. Not thread-safe; one object hashes one message.
class Hasher {
  public:
    Hasher();
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;

    Hasher& add(std::string_view bytes);
    /// Length-prefixed (8 bytes, little endian), so that ("ab","c") and ("a","bc") differ.
    Hasher& add_field(std::string_view bytes);
    /// Ends the message; the object must not be used afterwards.
    Digest finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

Digest sha256(std::string_view bytes);
/// The digest of a regular file's content, read in chunks.
Result<Digest> sha256_file(const std::string& path);

}  // namespace tunefarm
