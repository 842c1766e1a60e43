// SPDX-License-Identifier: MIT
#include "storage/miopen/kernel_db.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/digest.h"
#include "storage/miopen/bzip2.h"
#include "storage/miopen/sqlite_bytes.h"

namespace tunefarm::miopen {

namespace {

using storage::Database;
using storage::Statement;

constexpr const char* kTable =
    "CREATE TABLE `kern_db` (`id` INTEGER PRIMARY KEY ASC,`kernel_name` TEXT NOT NULL,`kernel_args` TEXT NOT NULL,"
    "`kernel_blob` BLOB NOT NULL,`kernel_hash` TEXT NOT NULL,`uncompressed_size` INT NOT NULL)";
constexpr const char* kIndex = "CREATE UNIQUE INDEX `idx_kern_db` ON kern_db(kernel_name, kernel_args)";
/// No code object of MIOpen comes near; a forged size must not fill the memory.
constexpr std::int64_t kLargestObject = 256LL << 20;
constexpr std::string_view kMcpu = "-mcpu=";

}  // namespace

Result<std::string> md5_hex(std::string_view bytes) {
    std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
    unsigned size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_md5(), nullptr) != 1) {
        return Error{ErrorKind::kUnsupported, "this host's OpenSSL refuses MD5, which MIOpen's kernel databases need"};
    }
    return to_hex(std::span(digest.data(), size));
}

std::string_view mcpu_of(std::string_view args) {
    const std::size_t place = args.rfind(kMcpu);
    if (place == std::string_view::npos) return {};
    args.remove_prefix(place + kMcpu.size());
    return args.substr(0, args.find(' '));
}

Status check_kernel_schema(Database& db, const std::string& file) {
    TUNEFARM_ASSIGN(const std::int64_t table,
                    db.query_integer("SELECT count(*) FROM sqlite_schema WHERE name = 'kern_db' AND type = 'table' AND "
                                     "sql LIKE 'CREATE TABLE%'"));
    if (table != 1) return Error{ErrorKind::kInput, file + ": has no table kern_db; it is no kernel-db"};
    std::set<std::string> columns;
    TUNEFARM_ASSIGN(Statement info, db.prepare("SELECT name FROM pragma_table_info('kern_db')"));
    while (true) {
        TUNEFARM_ASSIGN(const bool row, info.step());
        if (!row) break;
        columns.insert(info.text(0));
    }
    for (const char* column : {"id", "kernel_name", "kernel_args", "kernel_blob", "kernel_hash", "uncompressed_size"}) {
        if (!columns.contains(column)) {
            return Error{ErrorKind::kInput, file + ": the table kern_db has no column " + column};
        }
    }
    return {};
}

Status for_each_kernel(Database& db, const std::string& file, const std::function<Status(KernelRow&)>& visit) {
    TUNEFARM_TRY(check_kernel_schema(db, file));
    TUNEFARM_ASSIGN(Statement select,
                    db.prepare("SELECT id, kernel_name, kernel_args, kernel_blob, kernel_hash, "
                               "uncompressed_size FROM kern_db ORDER BY kernel_name, kernel_args, id"));
    KernelRow row;
    while (true) {
        const Result<bool> step = select.step();
        if (!step.ok()) return step.error().in(file);
        if (!*step) return {};
        row.id = select.integer(0);
        row.name = select.text(1);
        row.args = select.text(2);
        row.blob = select.blob(3);
        row.hash = select.text(4);
        row.uncompressed_size = select.integer(5);
        TUNEFARM_TRY(visit(row));
    }
}

Result<std::string> unpack_kernel(const KernelRow& row) {
    std::string object = row.blob;
    if (row.uncompressed_size < 0 || row.uncompressed_size > kLargestObject) {
        return Error{ErrorKind::kCorruption, "uncompressed_size is " + std::to_string(row.uncompressed_size)};
    }
    if (row.uncompressed_size > 0) {
        Result<std::string> unpacked = bzip2_decompress(row.blob, row.uncompressed_size);
        if (!unpacked.ok()) return Error{ErrorKind::kCorruption, unpacked.error().message};
        object = std::move(unpacked).value();
        if (static_cast<std::int64_t>(object.size()) != row.uncompressed_size) {
            return Error{ErrorKind::kCorruption, "the blob unpacks to " + std::to_string(object.size()) +
                                                     " bytes, uncompressed_size says " +
                                                     std::to_string(row.uncompressed_size)};
        }
    }
    TUNEFARM_ASSIGN(const std::string hash, md5_hex(object));
    if (hash != row.hash) {
        return Error{ErrorKind::kCorruption, "the MD5 of the code object is " + hash + ", kernel_hash says " +
                                                 row.hash.substr(0, 64) +
                                                 "; the library throws 'Possible database corruption'"};
    }
    return object;
}

void check_kernel(const KernelRow& row, const std::string& file, Issues& issues) {
    const auto add = [&](Issue::Severity severity, const std::string& what) {
        issues.add({severity, file, row.id, "kern_db row (" + row.name.substr(0, 80) + "): " + what});
    };
    const auto bad = [](std::string_view text) {
        return std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f || c == '\''; });
    };
    if (bad(row.name) || bad(row.args)) {
        add(Issue::Severity::kError,
            "a quote or control character in name or arguments: the library's SELECT breaks on it");
    }
    if (!row.name.ends_with(".o")) {
        add(Issue::Severity::kError, "the name does not end in .o: the library never asks for it");
    }
    const std::string_view target = mcpu_of(row.args);
    if (target.empty() && !row.name.ends_with(".mlir.o")) {
        add(Issue::Severity::kError, "the arguments have no -mcpu=: the library never asks for them");
    }
    if (target.find("sram-ecc") != std::string_view::npos || target.find("xnack") != std::string_view::npos) {
        add(Issue::Severity::kError,
            "-mcpu=" + std::string(target) + " names target features; a system database may not");
    }
    if (const Result<std::string> object = unpack_kernel(row); !object.ok()) {
        add(Issue::Severity::kError, object.error().message);
    }
}

KernelDbWriter::KernelDbWriter(Database db, Statement insert) : db_(std::move(db)), insert_(std::move(insert)) {}

Result<KernelDbWriter> KernelDbWriter::create() {
    TUNEFARM_ASSIGN(Database db, Database::open_memory());
    TUNEFARM_TRY(db.execute(std::string("PRAGMA page_size=4096; BEGIN; ") + kTable + "; " + kIndex));
    TUNEFARM_ASSIGN(Statement insert, db.prepare("INSERT INTO kern_db(id, kernel_name, kernel_args, kernel_blob, "
                                                 "kernel_hash, uncompressed_size) VALUES (?1,?2,?3,?4,?5,?6)"));
    return KernelDbWriter(std::move(db), std::move(insert));
}

Status KernelDbWriter::add(const KernelRow& row) {
    std::string place = row.name + '\0' + row.args;
    if (rows_ > 0 && place <= last_) {
        return Error{ErrorKind::kInput, "kernel " + row.name + " with these arguments is there twice, or out of order"};
    }
    last_ = std::move(place);
    insert_.bind(1, ++rows_).bind(2, row.name).bind(3, row.args).bind_blob(4, row.blob).bind(5, row.hash);
    insert_.bind(6, row.uncompressed_size);
    return insert_.run();
}

Result<std::string> KernelDbWriter::finish() {
    insert_ = Statement();
    TUNEFARM_TRY(db_.execute("COMMIT"));
    return serialize(db_);
}

}  // namespace tunefarm::miopen
