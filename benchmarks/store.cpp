// SPDX-License-Identifier: MIT
// Artifacts as files against artifacts as rows of SQLite: puts and gets per second, compression and bytes on disk, by
// size. The threshold of storage/artifact_store.h comes from it (docs/storage.md).
// Usage: store [DIRECTORY [SECONDS]]; the directory should be on the disk that the farm will use.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "storage/artifact_store.h"

namespace {

using tunefarm::Digest;
using tunefarm::storage::ArtifactStore;
using tunefarm::storage::ArtifactStoreOptions;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kNoLimit = 1LL << 40;

double seconds_of(const std::function<void()>& body) {
    const auto begin = Clock::now();
    body();
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

template <typename T>
T need(tunefarm::Result<T> result) {
    if (!result.ok()) {
        std::fprintf(stderr, "store: %s\n", result.error().message.c_str());
        std::exit(3);
    }
    return std::move(result).value();
}

/// Half words of a small vocabulary, half random: compresses about as code objects do.
std::string content(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string bytes;
    while (bytes.size() < size) {
        const std::uint64_t word = random();
        const std::uint64_t tail = word % 2 == 0 ? word : (word >> 8U) % 64 * 0x0101010101010101ULL;
        bytes.append(reinterpret_cast<const char*>(&tail), sizeof tail);
    }
    bytes.resize(size);
    return bytes;
}

/// Blocks that all files below `dir` occupy.
std::int64_t on_disk(const std::string& dir) {
    std::int64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
        struct stat info{};
        if (entry.is_regular_file() && ::lstat(entry.path().c_str(), &info) == 0) bytes += info.st_blocks * 512;
    }
    return bytes;
}

struct Figures {
    double put_one = 0;    ///< puts/s, one thread, one artifact per call
    double put_eight = 0;  ///< puts/s, eight threads, one artifact per call
    double put_many = 0;   ///< puts/s, 64 artifacts per call
    double get = 0;
    double ratio = 0;  ///< content / stored
    double disk = 0;   ///< bytes on disk / content
};

Figures measure(const std::string& dir, std::int64_t threshold, std::size_t size, double budget) {
    ArtifactStoreOptions options;
    options.blob_threshold = threshold;
    auto store = need(ArtifactStore::open(dir, options));
    const std::int64_t empty = on_disk(dir);
    Figures figures;
    std::uint64_t seed = 0;
    std::vector<Digest> digests;
    const auto until = [&](double share) { return Clock::now() + std::chrono::duration<double>(budget * share); };

    std::size_t count = 0;
    const auto end_one = until(1);
    const double one = seconds_of([&] {
        for (; Clock::now() < end_one; ++count) digests.push_back(need(store->put(content(size, ++seed))));
    });
    figures.put_one = static_cast<double>(count) / one;

    std::vector<std::size_t> counts(8, 0);
    const auto end_eight = until(1);
    const double eight = seconds_of([&] {
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t < counts.size(); ++t) {
            threads.emplace_back([&, t] {
                for (; Clock::now() < end_eight; ++counts[t])
                    need(store->put(content(size, (t + 1) << 40U | counts[t])));
            });
        }
        for (std::thread& thread : threads) thread.join();
    });
    std::size_t total = 0;
    for (const std::size_t n : counts) total += n;
    figures.put_eight = static_cast<double>(total) / eight;

    count = 0;
    const auto end_many = until(1);
    const double many = seconds_of([&] {
        while (Clock::now() < end_many) {
            std::vector<std::string> contents;
            for (int i = 0; i < 64; ++i) contents.push_back(content(size, ++seed));
            const std::vector<std::string_view> views(contents.begin(), contents.end());
            for (const Digest& digest : need(store->put_many(views))) digests.push_back(digest);
            count += contents.size();
        }
    });
    figures.put_many = static_cast<double>(count) / many;

    std::mt19937_64 random(1);
    count = 0;
    const auto end_get = until(0.5);
    const double gets = seconds_of([&] {
        for (; Clock::now() < end_get; ++count) need(store->get(digests[random() % digests.size()], kNoLimit));
    });
    figures.get = static_cast<double>(count) / gets;

    std::int64_t stored = 0;
    std::int64_t plain = 0;
    for (const auto& entry : need(store->list())) {
        stored += entry.stored;
        plain += entry.size;
    }
    store.reset();  // the WAL goes into the database
    figures.ratio = static_cast<double>(plain) / static_cast<double>(stored);
    figures.disk = static_cast<double>(on_disk(dir) - empty) / static_cast<double>(plain);
    return figures;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string base = argc > 1 ? argv[1] : "/tmp";
    const double budget = argc > 2 ? std::atof(argv[2]) : 2.0;
    std::printf("%8s %-5s %10s %12s %12s %10s %7s %10s\n", "size", "kind", "put/s x1", "put/s 8 thr", "put/s 64/call",
                "get/s", "ratio", "disk/size");
    for (const std::size_t size : {1U << 10U, 4U << 10U, 16U << 10U, 64U << 10U, 256U << 10U, 1U << 20U}) {
        for (const bool blobs : {false, true}) {
            const std::string dir = need(tunefarm::make_temporary_directory(base + "/tunefarm-store-bench-"));
            const Figures f = measure(dir, blobs ? std::numeric_limits<std::int64_t>::max() : 0, size, budget);
            std::printf("%8zu %-5s %10.0f %12.0f %12.0f %10.0f %7.2f %10.2f\n", size, blobs ? "rows" : "files",
                        f.put_one, f.put_eight, f.put_many, f.get, f.ratio, f.disk);
            std::fflush(stdout);
            const tunefarm::Status removed = tunefarm::remove_tree(dir);
            if (!removed.ok()) std::fprintf(stderr, "store: %s\n", removed.error().message.c_str());
        }
    }
    return 0;
}
