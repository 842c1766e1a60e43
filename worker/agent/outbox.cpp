// SPDX-License-Identifier: MIT
#include "worker/agent/outbox.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/log.h"
#include "protocol/codec.h"

namespace tunefarm::worker {

namespace {

constexpr std::int64_t kReadLimit = std::int64_t{1} << 32;
/// Rewriting a smaller file is not worth its fsyncs.
constexpr std::int64_t kRewriteAbove = 8 << 20;

void put_u32(std::string& text, std::size_t value) {
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>((value >> shift) & 0xFF);
}

std::optional<std::size_t> get_u32(std::string_view& text) {
    if (text.size() < 4) return std::nullopt;
    std::size_t value = 0;
    for (std::size_t i = 0; i < 4; ++i)
        value |= static_cast<std::size_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    text.remove_prefix(4);
    return value;
}

std::string record_of(const Outbox::Entry& entry) {
    std::string body;
    for (const std::string& frame : entry.frames) {
        put_u32(body, frame.size());
        body += frame;
    }
    std::string record;
    put_u32(record, body.size());
    const Digest digest = sha256(body);
    for (const std::uint8_t byte : digest.bytes) record += static_cast<char>(byte);
    return record + body;
}

std::optional<Outbox::Entry> entry_of(std::string_view body) {
    Outbox::Entry entry;
    while (!body.empty()) {
        const auto length = get_u32(body);
        if (!length || *length > body.size()) return std::nullopt;
        entry.frames.emplace_back(body.substr(0, *length));
        body.remove_prefix(*length);
    }
    if (entry.frames.empty()) return std::nullopt;
    const auto message = protocol::decode_from_worker(entry.frames.back());
    if (!message.ok()) return std::nullopt;
    const auto* result = std::get_if<protocol::AttemptResult>(&*message);
    if (result == nullptr) return std::nullopt;
    entry.key = result->key;
    return entry;
}

}  // namespace

Result<std::unique_ptr<Outbox>> Outbox::open(const std::string& directory) {
    TUNEFARM_TRY(make_directories(directory));
    std::unique_ptr<Outbox> outbox(new Outbox(directory + "/results"));
    const auto content = read_file(outbox->path_, kReadLimit);
    if (!content.ok() && content.error().kind != ErrorKind::kNotFound) return content.error();
    std::string_view rest = content.ok() ? std::string_view(*content) : std::string_view();
    while (!rest.empty()) {
        const std::size_t before = rest.size();
        const auto length = get_u32(rest);
        if (!length || rest.size() < 32 + *length) break;
        const std::string_view digest = rest.substr(0, 32);
        const std::string_view body = rest.substr(32, *length);
        const Digest actual = sha256(body);
        if (std::memcmp(actual.bytes.data(), digest.data(), 32) != 0) break;
        rest.remove_prefix(32 + *length);
        if (auto entry = entry_of(body)) {
            const std::uint64_t at = outbox->next_++;
            outbox->order_[entry->key] = at;
            const auto size = static_cast<std::int64_t>(before - rest.size());
            outbox->entries_[at] = {std::make_shared<const Entry>(std::move(*entry)), size, false};
            outbox->live_ += size;
        }
    }
    if (!rest.empty()) log::warning(outbox->path_ + ": the last record is incomplete and was dropped");
    const std::lock_guard lock(outbox->mutex_);
    TUNEFARM_TRY(outbox->rewrite());
    return outbox;
}

Status Outbox::rewrite() {
    std::string text;
    for (const auto& [at, held] : entries_) text += record_of(*held.entry);
    TUNEFARM_TRY(write_file_atomically(path_, text, 0600));
    file_ = UniqueFd(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file_.valid()) return errno_error(path_);
    size_ = live_ = static_cast<std::int64_t>(text.size());
    return {};
}

Status Outbox::add(std::vector<Entry> entries) {
    const std::lock_guard lock(mutex_);
    std::string text;
    std::vector<std::int64_t> sizes;
    for (const Entry& entry : entries) {
        const std::string record = record_of(entry);
        sizes.push_back(static_cast<std::int64_t>(record.size()));
        text += record;
    }
    const Status written = write_all(file_.get(), text);
    if (!written.ok() || ::fdatasync(file_.get()) != 0) {
        const Error error = written.ok() ? errno_error(path_) : written.error();
        // A torn record would hide the whole ones behind it from the next reader.
        if (::ftruncate(file_.get(), size_) != 0) log::warning(path_ + ": cannot be cut back");
        return error;
    }
    size_ += static_cast<std::int64_t>(text.size());
    live_ += static_cast<std::int64_t>(text.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::uint64_t at = next_++;
        order_[entries[i].key] = at;
        entries_[at] = {std::make_shared<const Entry>(std::move(entries[i])), sizes[i], false};
    }
    return {};
}

void Outbox::acknowledge(const std::vector<protocol::AttemptKey>& keys) {
    const std::lock_guard lock(mutex_);
    for (const protocol::AttemptKey& key : keys) {
        const auto it = order_.find(key);
        if (it == order_.end()) continue;
        const auto held = entries_.find(it->second);
        live_ -= held->second.size;
        entries_.erase(held);
        order_.erase(it);
    }
    if (entries_.empty() && size_ > 0) {
        if (::ftruncate(file_.get(), 0) == 0) size_ = live_ = 0;
    } else if (size_ > kRewriteAbove && live_ < size_ / 4) {
        if (const Status status = rewrite(); !status.ok()) log::warning(status.error().message);
    }
}

std::vector<std::shared_ptr<const Outbox::Entry>> Outbox::take_unsent(std::size_t limit) {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const Entry>> result;
    auto it = entries_.lower_bound(first_unsent_);
    for (; it != entries_.end() && result.size() < limit; ++it) {
        if (std::exchange(it->second.taken, true)) continue;
        result.push_back(it->second.entry);
    }
    first_unsent_ = it == entries_.end() ? next_ : it->first;
    return result;
}

void Outbox::put_back(const protocol::AttemptKey& key) {
    const std::lock_guard lock(mutex_);
    const auto it = order_.find(key);
    if (it == order_.end()) return;
    entries_[it->second].taken = false;
    first_unsent_ = std::min(first_unsent_, it->second);
}

void Outbox::reset() {
    const std::lock_guard lock(mutex_);
    for (auto& [at, held] : entries_) held.taken = false;
    first_unsent_ = 1;
}

std::size_t Outbox::pending() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

}  // namespace tunefarm::worker
