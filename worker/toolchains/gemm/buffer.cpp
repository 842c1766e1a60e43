// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace tunefarm::gemm {
namespace {

constexpr std::size_t kPage = 4096;
constexpr unsigned char kPoison = 0xff;

bool all_poison(const unsigned char* at, std::size_t count) {
    return std::all_of(at, at + count, [](unsigned char byte) { return byte == kPoison; });
}

}  // namespace

Buffer::~Buffer() {
    if (base_ != nullptr) ::munmap(base_, mapped_);
}

Buffer::Buffer(Buffer&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mapped_(other.mapped_),
      data_(other.data_),
      size_(other.size_),
      tail_(other.tail_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_, other.mapped_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(tail_, other.tail_);
    return *this;
}

Result<Buffer> Buffer::make(std::size_t size) {
    Buffer buffer;
    // One page before the data, at least 256 bytes behind them, then the page without access.
    const std::size_t body = (size + 256 + kPage - 1) / kPage * kPage;
    buffer.mapped_ = kPage + body + kPage;
    void* const base = ::mmap(nullptr, buffer.mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return errno_error("memory for a matrix of " + std::to_string(size) + " bytes");
    buffer.base_ = base;
    buffer.data_ = static_cast<unsigned char*>(base) + kPage;
    buffer.size_ = size;
    buffer.tail_ = body - size;
    if (::mprotect(buffer.data_ + body, kPage, PROT_NONE) != 0) return errno_error("mprotect");
    buffer.poison();
    return buffer;
}

void Buffer::poison() {
    std::memset(data_ - kPage, kPoison, kPage + size_ + tail_);
}

bool Buffer::canaries_intact() const {
    return all_poison(data_ - kPage, kPage) && all_poison(data_ + size_, tail_);
}

void Buffer::make_read_only() {
    ::mprotect(base_, mapped_ - kPage, PROT_READ);
}

}  // namespace tunefarm::gemm
