// SPDX-License-Identifier: MIT
#include "base/rate_limit.h"

#include <utility>

namespace tunefarm {

std::optional<std::uint64_t> RateLimit::pass(Clock::time_point now) {
    if (!began_ || now - *began_ >= window_) {
        began_ = now;
        passed_ = 0;
    }
    if (passed_ >= burst_) {
        ++left_out_;
        return std::nullopt;
    }
    ++passed_;
    return std::exchange(left_out_, 0);
}

std::string left_out_text(std::uint64_t count) {
    return count == 0 ? "" : " (" + std::to_string(count) + " more like it were not logged)";
}

}  // namespace tunefarm
