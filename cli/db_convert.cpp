// SPDX-License-Identifier: MIT
// db convert and db filter: one database in, one out. The output is written only after the whole input was read.
#include <sys/stat.h>

#include "cli/commands.h"
#include "cli/db.h"
#include "cli/db_output.h"
#include "storage/miopen/convert.h"
#include "storage/miopen/find_item.h"

namespace tunefarm::cli {

namespace {

using miopen::DatabaseFile;

bool is_directory(const std::string& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

struct Target {
    std::string path;
    miopen::FileKind kind;
};

/// Where the output goes and what it is.
Result<Target> target_of(const DatabaseFile& input, const std::string& output) {
    if (is_directory(output)) {
        if (!input.name) {
            return Error{ErrorKind::kInput, input.path +
                                                ": has no database's name, so its system name is unknown; "
                                                "name the output file"};
        }
        return Target{output + "/" + to_string(input.name->as_system()), input.kind};
    }
    const std::string_view file = miopen::name_part(output);
    const std::optional<miopen::FileKind> kind = miopen::kind_by_ending(file);
    if (!kind) {
        return Error{ErrorKind::kInput, output +
                                            ": the ending says no kind of database; one of .fdb.txt, .db.txt, .db, "
                                            ".kdb (each also with .bz2)"};
    }
    const std::optional<miopen::FileName> name = miopen::parse_file_name(file);
    const bool same =
        !name || !input.name || name->base == input.name->base || name->base == input.name->as_system().base;
    if (!same) {
        return Error{ErrorKind::kInput, input.path + ": is of " + to_string(input.name->base) + ", " + output + " of " +
                                            to_string(name->base) +
                                            "; another CU count's name is given by `db install --cu`"};
    }
    return Target{output, *kind};
}

int write(DatabaseFile& input, const Target& target, bool drop_ignored) {
    Result<std::string> bytes = miopen::to_bytes(input, target.kind, drop_ignored);
    if (!bytes.ok()) return fail(bytes.error());
    if (!input.is_kernel_db()) warn(input.db().issues);
    const Status written = miopen::write_output(target.path, std::move(*bytes));
    if (!written.ok()) return fail(written.error());
    return print(target.path + "\n");
}

Result<miopen::Filter> complete(const DbFilterOptions& options) {
    miopen::Filter filter = options.filter;
    for (const std::string& direction : options.directions) filter.directions += direction;
    for (const std::string& name : options.types) {
        const std::optional<miopen::DataType> type = miopen::parse_data_type(name);
        if (!type) return Error{ErrorKind::kInput, "--type " + name + ": no data type; one is FP16"};
        filter.types.push_back(*type);
    }
    for (const std::string& layout : filter.layouts) {
        if (miopen::layout_dimensions(layout) == 0) {
            return Error{ErrorKind::kInput, "--layout " + layout + ": no layout; one is NHWC"};
        }
    }
    return filter;
}

}  // namespace

int db_convert(const DbConvertOptions& options) {
    Result<DatabaseFile> input = miopen::open_database(options.input);
    if (!input.ok()) return fail(input.error());
    const Result<Target> target = target_of(*input, options.output);
    if (!target.ok()) return fail(target.error());
    return write(*input, *target, options.drop_ignored);
}

int db_filter(const DbFilterOptions& options) {
    Result<miopen::Filter> filter = complete(options);
    if (!filter.ok()) return fail(filter.error());
    Result<DatabaseFile> input = miopen::open_database(options.input);
    if (!input.ok()) return fail(input.error());
    if (input->is_kernel_db()) {
        return fail(
            Error{ErrorKind::kUnsupported, options.input + ": a kernel-db's rows name no problem to filter by"});
    }
    const Result<Target> target = target_of(*input, options.output);
    if (!target.ok()) return fail(target.error());
    std::optional<Result<DatabaseFile>> keys;
    if (!options.keys_of.empty()) {
        keys = miopen::open_database(options.keys_of);
        if (!keys->ok()) return fail(keys->error());
        if ((*keys)->is_kernel_db())
            return fail(Error{ErrorKind::kInput, options.keys_of + ": a kernel-db has no problems"});
        filter->keys_of = &(*keys)->db();
    }
    Status clean = miopen::require_clean(input->db().issues, options.drop_ignored);
    if (!clean.ok()) return fail(clean.error());
    miopen::TuningDb db = input->db().kind() == miopen::DbKind::kFind ? to_format_2(input->db()) : input->db();
    clean = miopen::require_clean(db.issues, options.drop_ignored);
    if (!clean.ok()) return fail(clean.error());
    const Status filtered = miopen::filter(db, *filter);
    if (!filtered.ok()) return fail(filtered.error());
    input->content = std::move(db);
    return write(*input, *target, options.drop_ignored);
}

}  // namespace tunefarm::cli
