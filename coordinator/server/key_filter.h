// SPDX-License-Identifier: MIT
// Which action keys the database may hold, without asking it: most keys of a new campaign are new, and a look-up for
// each would be a sixth of what the coordinator does for a tiny task. A Bloom filter of fixed size.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "base/digest.h"

namespace tunefarm::server {

class KeyFilter {
  public:
    void add(const Digest& key) {
        for (const std::size_t place : {0U, 8U}) word(key, place) |= bit(key, place);
    }
    /// False: it was never added. True: it was, or it is one of the few that look like it.
    bool may_hold(const Digest& key) const {
        return (bits_[index(key, 0)] & bit(key, 0)) != 0 && (bits_[index(key, 8)] & bit(key, 8)) != 0;
    }

  private:
    /// 16 MiB, touched as it fills: ten million keys leave one question in fifty to the database.
    static constexpr std::size_t kWords = std::size_t{1} << 21U;

    /// Keys are SHA-256: their bytes are the hash functions.
    static std::uint64_t part(const Digest& key, std::size_t place) {
        std::uint64_t value = 0;
        std::memcpy(&value, key.bytes.data() + place, sizeof value);
        return value;
    }
    static std::size_t index(const Digest& key, std::size_t place) { return (part(key, place) >> 6U) % kWords; }
    static std::uint64_t bit(const Digest& key, std::size_t place) {
        return std::uint64_t{1} << (part(key, place) & 63U);
    }
    std::uint64_t& word(const Digest& key, std::size_t place) { return bits_[index(key, place)]; }

    std::vector<std::uint64_t> bits_ = std::vector<std::uint64_t>(kWords);
};

}  // namespace tunefarm::server
