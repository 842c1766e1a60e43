// SPDX-License-Identifier: MIT
#include "protocol/key_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <sstream>

#include "base/files.h"
#include "protocol/socket_impl.h"

namespace tunefarm::protocol {
namespace {

constexpr off_t kMaxFile = 1 << 20;

bool is_role(const std::string& role) {
    return role == kCoordinatorRole || may_work(role) || may_ask(role);
}

Error unknown_role(const std::string& where, const std::string& role) {
    return Error{ErrorKind::kInput, where + ": no role '" + role + "': coordinator, worker, client or admin"};
}

Status check_name(const std::string& name) {
    const bool spaces =
        std::any_of(name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f || c == '#'; });
    if (is_plain_file_name(name) && !spaces) return {};
    return Error{ErrorKind::kInput, "'" + name +
                                        "' cannot name a key: 1 to 200 bytes without '/', '#', spaces and control "
                                        "characters, and no '.' at the start"};
}

struct Guard {
    mode_t forbidden;
    const char* verb;
    const char* remedy;
};
constexpr Guard kSecret{S_IRWXG | S_IRWXO, "read", "chmod 600"};
constexpr Guard kTrusted{S_IWGRP | S_IWOTH, "write", "chmod go-w"};

/// The file's content, if nobody but its owner has one of the forbidden rights (those of the file that is then read).
Result<std::string> read_guarded(const std::string& path, const Guard& guard) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd.valid()) return errno_error(path);
    struct stat info{};
    if (::fstat(fd.get(), &info) != 0) return errno_error(path);
    if (!S_ISREG(info.st_mode)) return Error{ErrorKind::kInput, path + ": not a regular file"};
    if ((info.st_mode & guard.forbidden) != 0) {
        std::array<char, 8> mode{};
        std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(info.st_mode & 07777));
        return Error{ErrorKind::kInput, path + ": has mode " + mode.data() + ", so that others than its owner may " +
                                            guard.verb + " it: " + guard.remedy + " " + path};
    }
    if (info.st_size > kMaxFile) return Error{ErrorKind::kInput, path + ": too large for a file of keys"};
    std::string content(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = ::read(fd.get(), content.data() + done, content.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno_error(path);
        if (n == 0) break;
        done += static_cast<std::size_t>(n);
    }
    content.resize(done);
    return content;
}

struct Line {
    std::string where;  ///< "PATH:LINE"
    std::vector<std::string> words;
};

std::vector<Line> lines_of(const std::string& path, const std::string& content) {
    std::vector<Line> out;
    std::istringstream text(content);
    std::string line;
    for (int number = 1; std::getline(text, line); ++number) {
        std::istringstream parts(line);
        std::vector<std::string> words;
        for (std::string word; parts >> word;) words.push_back(std::move(word));
        if (words.empty() || words.front().starts_with('#')) continue;
        out.push_back({path + ":" + std::to_string(number), std::move(words)});
    }
    return out;
}

/// "ROLE NAME KEY" lines.
struct PublicLine {
    std::string where;
    AllowedKey key;
};
Result<std::vector<PublicLine>> read_public_lines(const std::string& path) {
    TUNEFARM_ASSIGN(const std::string content, read_guarded(path, kTrusted));
    std::vector<PublicLine> out;
    for (Line& line : lines_of(path, content)) {
        if (line.words.front() == "role" || line.words.front() == "secret") {
            return Error{ErrorKind::kInput, line.where + ": this is a secret key: name its .pub file"};
        }
        if (line.words.size() != 3) {
            return Error{ErrorKind::kInput, line.where + ": not ROLE NAME KEY, as tunefarm keygen writes it to .pub"};
        }
        if (!is_role(line.words[0])) return unknown_role(line.where, line.words[0]);
        const Status name = check_name(line.words[1]);
        if (!name.ok()) return name.error().in(line.where);
        TUNEFARM_TRY(check_key(line.words[2], line.where));
        out.push_back({std::move(line.where), {line.words[2], line.words[1], line.words[0]}});
    }
    return out;
}

/// A file that must not exist yet, durably.
Status create_file(const std::string& path, const std::string& content, mode_t mode) {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.valid() && errno == EEXIST) {
        return Error{ErrorKind::kInput, path + ": exists; a key is never replaced: choose another name, or remove it"};
    }
    if (!fd.valid()) return errno_error(path);
    Status written = write_all(fd.get(), content);
    if (written.ok() && ::fsync(fd.get()) != 0) written = errno_error(path);
    if (!written.ok()) ::unlink(path.c_str());
    return written;
}

}  // namespace

Result<KeyFiles> make_key_files(const std::string& directory, const std::string& role, const std::string& name) {
    if (!is_role(role)) return unknown_role("keygen", role);
    TUNEFARM_TRY(check_name(name));
    TUNEFARM_ASSIGN(const KeyPair keys, keygen());
    const KeyFiles files{directory + "/" + name + ".key", directory + "/" + name + ".pub"};
    const std::string secret = "# A secret key of tunefarm: whoever can read it is " + name + " (" + role +
                               ").\nrole " + role + "\nname " + name + "\npublic " + keys.public_key + "\nsecret " +
                               keys.secret_key + "\n";
    TUNEFARM_TRY(make_directories(directory, 0700));
    TUNEFARM_TRY(create_file(files.secret, secret, 0600));
    Status shared = create_file(files.shared, role + " " + name + " " + keys.public_key + "\n", 0644);
    if (shared.ok()) shared = sync_directory(directory);
    if (!shared.ok()) {
        ::unlink(files.secret.c_str());
        return shared.error();
    }
    return files;
}

Result<NamedKey> read_key_file(const std::string& path) {
    TUNEFARM_ASSIGN(const std::string content, read_guarded(path, kSecret));
    std::map<std::string, std::string> fields;
    for (const Line& line : lines_of(path, content)) {
        const std::string& word = line.words.front();
        const bool known = word == "role" || word == "name" || word == "public" || word == "secret";
        if (!known || line.words.size() != 2 || !fields.emplace(word, line.words[1]).second) {
            return Error{
                ErrorKind::kInput,
                line.where + ": not one each of role, name, public and secret, as tunefarm keygen writes them"};
        }
    }
    if (fields.size() != 4) {
        return Error{ErrorKind::kInput, path +
                                            ": lacks one of role, name, public and secret: is it a .key file that "
                                            "tunefarm keygen wrote?"};
    }
    NamedKey key{fields["role"], fields["name"], {fields["public"], fields["secret"]}};
    if (!is_role(key.role)) return unknown_role(path, key.role);
    const auto derived = public_key_of(key.keys.secret_key);
    if (!derived.ok()) return derived.error().in(path);
    if (*derived != key.keys.public_key) {
        return Error{ErrorKind::kInput, path + ": its public key does not belong to its secret one"};
    }
    return key;
}

Result<std::vector<AllowedKey>> read_allow_list(const std::string& path) {
    TUNEFARM_ASSIGN(std::vector<PublicLine> lines, read_public_lines(path));
    std::map<std::string, std::string> roles;  ///< by name
    std::map<std::string, std::string> seen;   ///< line of each key
    std::vector<AllowedKey> out;
    for (PublicLine& line : lines) {
        if (line.key.role == kCoordinatorRole) {
            return Error{ErrorKind::kInput, line.where +
                                                ": a coordinator's key does not connect to a coordinator: "
                                                "take it off the list of those who may"};
        }
        if (const auto [first, fresh] = seen.emplace(line.key.public_key, line.where); !fresh) {
            return Error{ErrorKind::kInput, line.where + ": the same key as in " + first->second};
        }
        if (const auto [first, fresh] = roles.emplace(line.key.name, line.key.role);
            !fresh && first->second != line.key.role) {
            return Error{ErrorKind::kInput, line.where + ": " + line.key.name + " is a " + first->second +
                                                " already; a name has one role"};
        }
        out.push_back(std::move(line.key));
    }
    return out;
}

Result<std::string> read_server_key(const std::string& path) {
    TUNEFARM_ASSIGN(std::vector<PublicLine> lines, read_public_lines(path));
    for (const PublicLine& line : lines) {
        if (line.key.role == kCoordinatorRole) continue;
        return Error{ErrorKind::kInput, line.where + ": the key of a " + line.key.role + ", not of a coordinator"};
    }
    if (lines.size() != 1) {
        return Error{ErrorKind::kInput,
                     path + ": holds " + std::to_string(lines.size()) + " keys of a coordinator, not one"};
    }
    return std::move(lines.front().key.public_key);
}

}  // namespace tunefarm::protocol
