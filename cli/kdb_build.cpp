// SPDX-License-Identifier: MIT
// kdb build: a manifest and MIOpen's sources become a kernel-db.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/db_output.h"
#include "cli/kdb.h"
#include "cli/kdb_cache.h"
#include "cli/kdb_compile.h"
#include "cli/kdb_sources.h"
#include "cli/local_campaign.h"
#include "storage/miopen/bzip2.h"
#include "storage/miopen/database_file.h"
#include "storage/miopen/kernel_db.h"
#include "storage/miopen/manifest.h"

namespace tunefarm::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Template {
    std::string source;
    std::string directory;  ///< holds the source and what it includes
    SourceClosure closure;
    std::optional<std::size_t> assembler;  ///< chosen by its first kernel
};

struct Kernel {
    std::size_t source = 0;  ///< index of its template
    std::string name;
    std::string args;
    std::string object;
    std::string why;  ///< it failed
};

struct Build {
    const KdbBuildOptions& options;
    std::string manifest_text;
    miopen::Manifest manifest;
    std::string target_id;
    std::vector<Assembler> assemblers;
    std::unique_ptr<KernelCache> cache;
    std::vector<Template> templates;
    std::vector<Kernel> kernels;  ///< sorted by template, arguments
    std::atomic<std::int64_t> cpu_us{0};
    std::atomic<std::size_t> built{0};
    std::atomic<std::size_t> cached{0};
};

/// Where a template begins in the manifest, as "FILE:LINE".
std::string place_of(const Build& build, std::size_t index) {
    std::size_t line = 1;
    for (std::size_t at = 0; at < build.manifest_text.size(); ++line) {
        if (build.manifest_text.compare(at, 10, "template: ") == 0 && index-- == 0) break;
        at = std::min(build.manifest_text.find('\n', at), build.manifest_text.size() - 1) + 1;
    }
    return build.options.manifest + ":" + std::to_string(line);
}

Status load_templates(Build& build, const std::string& work) {
    TUNEFARM_ASSIGN(const KernelSources sources, KernelSources::open(build.options.source));
    for (std::size_t i = 0; i < build.manifest.templates.size(); ++i) {
        const miopen::KernelTemplate& kernel = build.manifest.templates[i];
        if (!kernel.kernel.ends_with(".s")) {
            return Error{ErrorKind::kUnsupported, place_of(build, i) + ": " + kernel.kernel +
                                                      " is no assembly; this version builds no other kernels"};
        }
        Template entry{kernel.kernel, work + "/" + std::to_string(i), {}, {}};
        Result<SourceClosure> closure = sources.closure(kernel.kernel);
        if (!closure.ok()) return closure.error().in(place_of(build, i));
        entry.closure = std::move(closure).value();
        if (kernel.sha256 != "unknown" && kernel.sha256 != entry.closure.source.hex()) {
            return Error{ErrorKind::kInput, place_of(build, i) + ": the manifest is of a " + kernel.kernel +
                                                " with SHA-256 " + kernel.sha256 + ", the tree's is " +
                                                entry.closure.source.hex() +
                                                ": take the sources that the manifest was made for"};
        }
        TUNEFARM_TRY(make_directories(entry.directory, 0700));
        for (const auto& [name, text] : entry.closure.files)
            TUNEFARM_TRY(write_file_atomically(entry.directory + "/" + name, text));
        miopen::Manifest one = build.manifest;
        one.templates = {kernel};
        TUNEFARM_TRY(miopen::for_each_argument(one, [&](const std::string& name, const std::string& args) -> Status {
            build.kernels.push_back({i, name, args, {}, {}});
            return {};
        }));
        build.templates.push_back(std::move(entry));
    }
    return {};
}

/// Builds with one assembler, or takes what was built before.
Status build_with(Build& build, std::size_t index, const Assembler& assembler) {
    Kernel& kernel = build.kernels[index];
    const Template& source = build.templates[kernel.source];
    Hasher hasher;
    hasher.add_field("tunefarm kdb build 1").add_field(assembler.fingerprint.hex());
    hasher.add_field(source.closure.closure.hex());
    // The program's path may differ from host to host; its content is in the fingerprint.
    for (const std::string& word : assembler_command({}, source.source, kernel.args, build.target_id, "object.o"))
        hasher.add_field(word);
    const Digest key = hasher.finish();
    TUNEFARM_ASSIGN(std::optional<std::string> known, build.cache->get(key));
    if (known) {
        kernel.object = *std::move(known);
        ++build.cached;
        return {};
    }
    // The output's name is not part of what comes out.
    TUNEFARM_ASSIGN(Assembled result, assemble(assembler, source.directory, source.source, kernel.args, build.target_id,
                                               "object-" + std::to_string(index) + ".o"));
    build.cpu_us += result.cpu.count();
    if (result.object.empty()) {
        kernel.why += (kernel.why.empty() ? "" : "\n") + assembler.name + ": " + result.log.substr(0, 400);
        return {};
    }
    TUNEFARM_TRY(
        build.cache->put(key, build.target_id, assembler.fingerprint, kernel.name + kernel.args, result.object));
    kernel.object = std::move(result.object);
    ++build.built;
    return {};
}

/// The template's assembler, or the first of all that can.
Status build_one(Build& build, std::size_t index, bool chooses) {
    Template& source = build.templates[build.kernels[index].source];
    if (source.assembler) return build_with(build, index, build.assemblers[*source.assembler]);
    for (std::size_t i = 0; i < build.assemblers.size(); ++i) {
        TUNEFARM_TRY(build_with(build, index, build.assemblers[i]));
        if (build.kernels[index].object.empty()) continue;
        build.kernels[index].why.clear();
        if (chooses) source.assembler = i;
        return {};
    }
    return {};
}

Status in_parallel(std::size_t jobs, const std::vector<std::size_t>& items,
                   const std::function<Status(std::size_t)>& run) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    std::mutex mutex;
    Status first;
    const auto work = [&] {
        for (std::size_t i = next++; i < items.size() && !stop; i = next++) {
            if (const Status status = run(items[i]); !status.ok()) {
                const std::scoped_lock lock(mutex);
                if (!stop.exchange(true)) first = status;
            }
        }
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < jobs; ++i) threads.emplace_back(work);
    threads.clear();
    return first;
}

Result<std::string> write_kernels(std::vector<Kernel>& kernels) {
    TUNEFARM_ASSIGN(miopen::KernelDbWriter writer, miopen::KernelDbWriter::create());
    std::ranges::sort(kernels, {}, [](const Kernel& k) { return std::tie(k.name, k.args); });
    for (Kernel& kernel : kernels) {
        if (kernel.object.empty()) continue;
        miopen::KernelRow row;
        row.name = kernel.name;
        row.args = kernel.args;
        TUNEFARM_ASSIGN(row.blob, miopen::bzip2_compress(kernel.object));
        TUNEFARM_ASSIGN(row.hash, miopen::md5_hex(kernel.object));
        row.uncompressed_size = static_cast<std::int64_t>(kernel.object.size());
        TUNEFARM_TRY(writer.add(row));
    }
    return writer.finish();
}

/// Holds no path, host or time of its own, so that equal builds say the same.
Status write_provenance(const Build& build, const std::string& kdb, std::size_t kernels) {
    Json sources = Json::array();
    for (std::size_t i = 0; i < build.templates.size(); ++i) {
        const Template& entry = build.templates[i];
        sources.push_back({{"source", entry.source},
                           {"sha256", entry.closure.source.hex()},
                           {"closure_sha256", entry.closure.closure.hex()},
                           {"origin", build.manifest.templates[i].origin},
                           {"toolchain", entry.assembler ? Json(build.assemblers[*entry.assembler].name) : Json()}});
    }
    Json toolchains = Json::object();
    for (std::size_t i = 0; i < build.assemblers.size(); ++i) {
        if (std::ranges::any_of(build.templates, [&](const Template& t) { return t.assembler == i; }))
            toolchains[build.assemblers[i].name] = {{"version", build.assemblers[i].version},
                                                    {"sha256", build.assemblers[i].fingerprint.hex()}};
    }
    Json json{{"version", 1},
              {"library", build.manifest.library},
              {"target_id", build.target_id},
              {"manifest_sha256", sha256(build.manifest_text).hex()},
              {"kdb_sha256", sha256(kdb).hex()},
              {"kernels", kernels},
              {"kernels_failed", build.kernels.size() - kernels},
              {"device_libraries", nullptr},
              {"source_date_epoch", nullptr},
              {"toolchains", toolchains},
              {"sources", sources}};
    if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH")) json["source_date_epoch"] = epoch;
    return miopen::write_output(build.options.output + ".provenance.json",
                                json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

Status run_all(Build& build, std::size_t jobs) {
    std::vector<std::size_t> first;
    std::vector<std::size_t> rest;
    for (std::size_t i = 0; i < build.kernels.size(); ++i)
        (i == 0 || build.kernels[i].source != build.kernels[i - 1].source ? first : rest).push_back(i);
    TUNEFARM_TRY(in_parallel(jobs, first, [&](std::size_t i) { return build_one(build, i, true); }));
    TUNEFARM_TRY(in_parallel(jobs, rest, [&](std::size_t i) { return build_one(build, i, false); }));
    return build.cache->flush();
}

Result<int> build_all(Build& build) {
    TUNEFARM_ASSIGN(build.manifest_text, read_file(build.options.manifest, miopen::kLargestFile));
    TUNEFARM_ASSIGN(build.manifest, miopen::parse_manifest(build.options.manifest, build.manifest_text));
    if (build.options.arch != build.manifest.arch)
        return Error{ErrorKind::kInput, build.options.manifest + ":4: is for " + build.manifest.arch +
                                            ", not for --arch " + build.options.arch};
    build.target_id = build.options.arch + build.options.features;
    TUNEFARM_ASSIGN(build.assemblers, find_assemblers());
    const std::string directory = build.options.cache.empty() ? build.options.output + ".build" : build.options.cache;
    TUNEFARM_ASSIGN(build.cache, KernelCache::open(std::filesystem::absolute(directory).string()));
    const std::string work = std::filesystem::absolute(directory).string() + "/work";
    TUNEFARM_TRY(remove_tree(work));
    TUNEFARM_TRY(load_templates(build, work));
    const std::size_t jobs = build.options.jobs > 0 ? build.options.jobs : usable_cpus();
    const Clock::time_point start = Clock::now();
    TUNEFARM_TRY(run_all(build, jobs));
    const double wall = std::chrono::duration<double>(Clock::now() - start).count();
    TUNEFARM_TRY(remove_tree(work));
    TUNEFARM_ASSIGN(const std::string kdb, write_kernels(build.kernels));
    std::size_t failed = 0;
    for (const Kernel& kernel : build.kernels) {
        if (!kernel.object.empty()) continue;
        ++failed;
        std::fprintf(stderr, "tunefarm: failed: %s: %s%s\n%s\n", place_of(build, kernel.source).c_str(),
                     kernel.name.c_str(), kernel.args.c_str(), kernel.why.c_str());
    }
    const std::size_t good = build.kernels.size() - failed;
    if (good > 0) {
        TUNEFARM_TRY(miopen::write_output(build.options.output, kdb));
        TUNEFARM_TRY(write_provenance(build, kdb, good));
    }
    std::string text = fmt::format("{}: {} kernels ({} built, {} from the cache), {} failed\n", build.options.output,
                                   good, build.built.load(), build.cached.load(), failed);
    if (build.built > 0) {
        const double cores = static_cast<double>(std::min<std::size_t>(jobs, usable_cpus()));
        const double cpu = static_cast<double>(build.cpu_us) / 1e6;
        text += fmt::format("{:.1f} s CPU of compilers, {:.1f} s on {:.0f} cores: {:.1f} % of the CPU-bound limit\n",
                            cpu, wall, cores, 100 * cpu / cores / wall);
    }
    const int printed = print(text);
    return failed > 0 ? kExitStepFailed : printed;
}

}  // namespace

int kdb_build(const KdbBuildOptions& options) {
    Build build{options, {}, {}, {}, {}, {}, {}, {}};
    const Result<int> code = build_all(build);
    return code.ok() ? *code : fail(code.error());
}

}  // namespace tunefarm::cli
