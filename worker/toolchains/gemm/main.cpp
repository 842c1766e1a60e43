// SPDX-License-Identifier: MIT
// tunefarm-driver-gemm: speaks docs/drivers.md on descriptors 3 and 4.
#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <string>

#include "worker/toolchains/gemm/driver.h"

int main() {
    if (::fcntl(3, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(4, F_SETFD, FD_CLOEXEC) != 0) {
        std::fputs(
            "tunefarm-driver-gemm is started by tunefarm: it speaks on the descriptors 3 and 4 (docs/drivers.md)\n",
            stderr);
        return 2;
    }
    std::signal(SIGPIPE, SIG_IGN);
    char path[PATH_MAX];
    const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
    if (size <= 0) return 3;
    return tunefarm::gemm::serve(tunefarm::gemm::Tools::find(std::string(path, static_cast<std::size_t>(size))), 3, 4);
}
