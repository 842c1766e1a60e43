// SPDX-License-Identifier: MIT
// Any bytes as a SQLite perf-db or kernel-db, and any rows in one. What is read survives writing.
// Run: fuzz_miopen_sqlite -max_len=16384 <a folder of databases>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "storage/miopen/kernel_db.h"
#include "storage/miopen/perf_sqlite.h"
#include "storage/miopen/sqlite_bytes.h"

namespace {

using namespace tunefarm;
using namespace tunefarm::miopen;

void require(bool condition) {
    if (!condition) std::abort();
}

void read_file(std::string_view bytes) {
    auto db = deserialize(bytes, "fuzz");
    if (!db.ok()) return;
    if (const auto records = read_perf_sqlite(*db, "fuzz"); records.ok()) {
        const std::string text = to_text(*records);
        require(to_text(parse_text(DbKind::kPerf, "fuzz", text)) == text);
        require(records->records.empty() || to_perf_sqlite(*records).ok());
    }
    Issues issues;
    (void)for_each_kernel(*db, "fuzz", [&](KernelRow& row) -> Status {
        check_kernel(row, "fuzz", issues);
        return {};
    });
}

/// Fields that end at a zero byte: what a row can hold that a file of ours never does.
void read_row(std::string_view bytes) {
    const auto field = [&] {
        const std::size_t end = std::min(bytes.find('\0'), bytes.size());
        const std::string text(bytes.substr(0, end));
        bytes.remove_prefix(std::min(end + 1, bytes.size()));
        return text;
    };
    KernelRow row;
    row.name = field();
    row.args = field();
    row.hash = field();
    row.uncompressed_size = static_cast<std::int64_t>(field().size());
    row.blob = bytes;
    Issues issues;
    check_kernel(row, "fuzz", issues);
    auto writer = KernelDbWriter::create();
    require(writer.ok() && writer->add(row).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    if (data[0] % 2 == 0) {
        read_file(bytes);
    } else {
        read_row(bytes);
    }
    return 0;
}
