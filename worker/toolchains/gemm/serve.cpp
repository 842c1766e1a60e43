// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/files.h"
#include "worker/toolchains/gemm/driver.h"

namespace tunefarm::gemm {

int serve(Tools tools, int requests, int events) {
    bool connected = true;
    Driver driver(std::move(tools), [&](const std::string& line) {
        if (connected && !write_all(events, line + "\n")) connected = false;
    });
    driver.hello();
    std::string buffer;
    char chunk[65536];
    while (connected) {
        const std::size_t end = buffer.find('\n');
        if (end != std::string::npos) {
            const std::string line = buffer.substr(0, end);
            buffer.erase(0, end + 1);
            driver.handle(line);
            continue;
        }
        if (buffer.size() > kMaxLine) return 3;
        const ssize_t n = ::read(requests, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        buffer.append(chunk, static_cast<std::size_t>(n));
    }
    return 0;
}

}  // namespace tunefarm::gemm
