// SPDX-License-Identifier: MIT
#include "base/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/files.h"

namespace tunefarm {

std::string to_hex(std::span<const std::uint8_t> bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    out.reserve(2 * bytes.size());
    for (const std::uint8_t b : bytes) {
        out.push_back(kDigits[b >> 4]);
        out.push_back(kDigits[b & 15]);
    }
    return out;
}

std::string Digest::hex() const {
    return to_hex(bytes);
}

std::optional<Digest> Digest::from_hex(std::string_view hex) {
    if (hex.size() != 64) return std::nullopt;
    Digest out;
    for (std::size_t i = 0; i < 64; ++i) {
        const char c = hex[i];
        int nibble = 0;
        if (c >= '0' && c <= '9') {
            nibble = c - '0';
        } else if (c >= 'a' && c <= 'f') {
            nibble = c - 'a' + 10;
        } else {
            return std::nullopt;
        }
        out.bytes[i / 2] = static_cast<std::uint8_t>((out.bytes[i / 2] << 4) | nibble);
    }
    return out;
}

namespace {

/// Looked up once: EVP_sha256() would search OpenSSL's providers again at each use, which costs more than a short text.
const EVP_MD* algorithm() {
    static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    return found;
}

}  // namespace

struct Hasher::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    State() {
        if (context == nullptr || EVP_DigestInit_ex(context, algorithm(), nullptr) != 1) std::abort();
    }
    ~State() { EVP_MD_CTX_free(context); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

Hasher::Hasher() : state_(std::make_unique<State>()) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::add(std::string_view bytes) {
    if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) std::abort();
    return *this;
}

Hasher& Hasher::add_field(std::string_view bytes) {
    std::array<char, 8> length{};
    for (int i = 0; i < 8; ++i) length[static_cast<std::size_t>(i)] = static_cast<char>(bytes.size() >> (8 * i));
    return add({length.data(), length.size()}).add(bytes);
}

Digest Hasher::finish() {
    Digest out;
    unsigned size = 0;
    if (EVP_DigestFinal_ex(state_->context, out.bytes.data(), &size) != 1 || size != 32) std::abort();
    return out;
}

Digest sha256(std::string_view bytes) {
    Hasher hasher;
    return hasher.add(bytes).finish();
}

Result<Digest> sha256_file(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd.valid()) return errno_error(path);
    std::vector<char> buffer(1 << 18);
    Hasher hasher;
    for (;;) {
        const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(path);
        if (n == 0) return hasher.finish();
        hasher.add({buffer.data(), static_cast<std::size_t>(n)});
    }
}

}  // namespace tunefarm
