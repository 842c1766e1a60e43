// SPDX-License-Identifier: MIT
#include "cli/db_output.h"

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"

namespace tunefarm::cli {

int print(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return kExitOk;
    return fail(Error{ErrorKind::kIo, "standard output cannot be written"});
}

int print(const Json& json) {
    Json versioned = {{"version", 1}};
    versioned.update(json);
    return print(versioned.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Json to_json(const miopen::Issues& issues) {
    Json list = Json::array();
    for (const miopen::Issue& issue : issues.kept()) {
        list.push_back({{"severity", issue.severity == miopen::Issue::Severity::kError ? "error" : "warning"},
                        {"file", issue.file},
                        {"line", issue.line},
                        {"message", issue.message}});
    }
    return list;
}

std::string to_text(const miopen::Issues& issues, std::size_t limit) {
    std::string text;
    const std::size_t shown = std::min(limit, issues.kept().size());
    for (std::size_t i = 0; i < shown; ++i) text += to_string(issues.kept()[i]) + "\n";
    const std::int64_t rest = issues.errors() + issues.warnings() - static_cast<std::int64_t>(shown);
    if (rest > 0) text += "… and " + std::to_string(rest) + " more\n";
    return text;
}

void warn(const miopen::Issues& issues) {
    constexpr std::size_t limit = 20;
    std::fputs(to_text(issues, limit).c_str(), stderr);
}

}  // namespace tunefarm::cli
