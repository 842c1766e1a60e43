// SPDX-License-Identifier: MIT
#include "storage/schema.h"

#include <array>
#include <functional>
#include <string>

#include "base/types.h"
#include "storage/migrations.h"

namespace tunefarm::storage {

namespace {

const std::array<Migration, 1> kMigrations = {{{kSchemaV1}}};

/// The names behind the stored numbers, for the views. Written at every open, since enums only grow.
Status write_names(Database& db) {
    TUNEFARM_ASSIGN(Statement kind,
                    db.prepare("INSERT INTO task_kind(kind, name) VALUES(?1, ?2) ON CONFLICT DO NOTHING"));
    for (int i = 0; i < kTaskKinds; ++i) {
        const std::string name = to_string(static_cast<TaskKind>(i));
        TUNEFARM_TRY(kind.bind(1, std::int64_t{i}).bind(2, name).run());
    }
    TUNEFARM_ASSIGN(Statement outcome,
                    db.prepare("INSERT INTO outcome(outcome, name) VALUES(?1, ?2) ON CONFLICT DO NOTHING"));
    for (int i = 0; i < kOutcomes; ++i) {
        const std::string name = to_string(static_cast<Outcome>(i));
        TUNEFARM_TRY(outcome.bind(1, std::int64_t{i}).bind(2, name).run());
    }
    TUNEFARM_ASSIGN(Statement ending,
                    db.prepare("INSERT INTO step_end(ending, name) VALUES(?1, ?2) ON CONFLICT DO NOTHING"));
    for (int i = 0; i <= static_cast<int>(StepEnd::kCancelled); ++i) {
        const std::string name = to_string(static_cast<StepEnd>(i));
        TUNEFARM_TRY(ending.bind(1, std::int64_t{i}).bind(2, name).run());
    }
    return {};
}

Error newer(const std::string& path, std::int64_t found, std::int64_t known) {
    return Error{ErrorKind::kUnsupported, path + ": was written by a newer tunefarm (schema " + std::to_string(found) +
                                              ", this build knows " + std::to_string(known) + "): update tunefarm"};
}

Status in_transaction(Database& db, const std::function<Status()>& body) {
    TUNEFARM_TRY(db.execute("BEGIN IMMEDIATE"));
    Status done = body();
    if (done.ok()) done = db.execute("COMMIT");
    if (!done.ok() && db.in_transaction()) TUNEFARM_TRY(db.execute("ROLLBACK"));
    return done;
}

}  // namespace

Status apply_migrations(Database& db, std::span<const Migration> steps) {
    TUNEFARM_ASSIGN(const std::int64_t found, db.query_integer("PRAGMA user_version"));
    const auto known = static_cast<std::int64_t>(steps.size());
    if (found > known || found < 0) return newer(db.path(), found, known);
    if (found > 0 && found < known) {
        const std::string backup = db.path() + ".v" + std::to_string(found) + ".backup";
        TUNEFARM_ASSIGN(Statement copy, db.prepare("VACUUM INTO ?1"));
        const Status copied = copy.bind(1, backup).run();
        if (!copied.ok()) return copied.error().in("backup before the migration, " + backup);
    }
    for (std::int64_t version = found; version < known; ++version) {
        const Status applied = in_transaction(db, [&]() -> Status {
            // Another process may have migrated between the look and the lock.
            TUNEFARM_ASSIGN(const std::int64_t now, db.query_integer("PRAGMA user_version"));
            if (now > version) return {};
            TUNEFARM_TRY(db.execute(steps[static_cast<std::size_t>(version)].sql));
            return db.execute("PRAGMA user_version=" + std::to_string(version + 1));
        });
        if (!applied.ok()) return applied.error().in("migration to schema " + std::to_string(version + 1));
    }
    return {};
}

std::int32_t schema_version() {
    return static_cast<std::int32_t>(kMigrations.size());
}

Status migrate(Database& db) {
    TUNEFARM_TRY(apply_migrations(db, kMigrations));
    return in_transaction(db, [&] { return write_names(db); });
}

Status check_version(Database& db) {
    TUNEFARM_ASSIGN(const std::int64_t found, db.query_integer("PRAGMA user_version"));
    if (found > schema_version()) return newer(db.path(), found, schema_version());
    if (found < schema_version()) {
        return Error{ErrorKind::kInput,
                     db.path() + ": has the older schema " + std::to_string(found) +
                         "; start `tunefarm run` or `tunefarm coordinator` on it once to migrate it"};
    }
    return {};
}

}  // namespace tunefarm::storage
