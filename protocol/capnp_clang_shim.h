// SPDX-License-Identifier: MIT
// Included before every source that uses Cap'n Proto (cmake: TUNEFARM_CAPNP_SHIM). Cap'n Proto 0.9.2 compares a C
// string with a kj::StringPtr in its headers; since C++20 with paper P2468 clang >= 16 no longer reverses the member
// operator for it, so that the headers do not compile without these two. They call the member by name: written as an
// expression, the best match for the reversed comparison would be these functions themselves.
#pragma once

#include <kj/string.h>

#if defined(__clang__) && __clang_major__ >= 16 && defined(__cpp_impl_three_way_comparison)
namespace kj {
inline bool operator==(const char* left, const StringPtr& right) {
    return right.operator==(StringPtr(left));
}
inline bool operator!=(const char* left, const StringPtr& right) {
    return !right.operator==(StringPtr(left));
}
}  // namespace kj
#endif
