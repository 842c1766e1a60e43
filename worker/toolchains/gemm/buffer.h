// SPDX-License-Identifier: MIT
// Memory for one matrix, with canaries on both sides and an inaccessible page behind.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace tunefarm::gemm {

/// The data are aligned to a page. Every byte outside of what a kernel should touch is 0xff: read as a number that is
/// "not a number", so a kernel that reads it shows in its result; checked afterwards, so one that writes it shows too.
class Buffer {
  public:
    Buffer() = default;
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    /// All bytes are 0xff and in memory: no page is touched for the first time while something is timed.
    static Result<Buffer> make(std::size_t size);

    void* data() const { return data_; }
    std::size_t size() const { return size_; }
    /// Fills data and canaries with 0xff.
    void poison();
    bool canaries_intact() const;
    /// Afterwards a write is a fault.
    void make_read_only();

  private:
    void* base_ = nullptr;
    std::size_t mapped_ = 0;
    unsigned char* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t tail_ = 0;
};

}  // namespace tunefarm::gemm
