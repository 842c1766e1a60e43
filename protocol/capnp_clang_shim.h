// SPDX-License-Identifier: MIT
// Included before every source that uses Cap'n Proto (cmake: TUNEFARM_CAPNP_SHIM). Cap'n Proto 0.9.2 compares a C
// string with a kj::StringPtr in its headers; since C++20 with paper P2468 clang >= 16 no longer reverses the member
// operator for it, so that the headers do not compile without these two.
#pragma once

#include <kj/string.h>

#if defined(__clang__) && __clang_major__ >= 16 && defined(__cpp_impl_three_way_comparison)
namespace kj {
inline bool operator==(const char* left, const StringPtr& right) {
    return right == left;
}
inline bool operator!=(const char* left, const StringPtr& right) {
    return !(right == left);
}
}  // namespace kj
#endif
