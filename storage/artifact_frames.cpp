// SPDX-License-Identifier: MIT
#include "storage/artifact_frames.h"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

namespace tunefarm::storage {

namespace {

/// 2^23 bytes: what level 19 needs; a frame that wants more is not ours.
constexpr int kWindowLog = 23;
constexpr int kMaxLevel = 19;
constexpr std::size_t kChunk = 128U << 10U;

struct FreeContexts {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

/// Creating one costs more than compressing a small artifact.
ZSTD_CCtx* compressor(int level) {
    thread_local const std::unique_ptr<ZSTD_CCtx, FreeContexts> context(ZSTD_createCCtx());
    if (context == nullptr) return nullptr;
    ZSTD_CCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, std::min(level, kMaxLevel));
    return context.get();
}

ZSTD_DCtx* decompressor() {
    thread_local const std::unique_ptr<ZSTD_DCtx, FreeContexts> context(ZSTD_createDCtx());
    if (context == nullptr) return nullptr;
    ZSTD_DCtx_reset(context.get(), ZSTD_reset_session_and_parameters);
    ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kWindowLog);
    return context.get();
}

Error no_memory() {
    return Error{ErrorKind::kNoSpace, "no memory for zstd"};
}

Error corrupt(const std::string& how) {
    return Error{ErrorKind::kCorruption, "stored artifact: " + how};
}

}  // namespace

Source source_of(int fd) {
    return [fd](char* buffer, std::size_t capacity) -> Result<std::size_t> {
        while (true) {
            const ssize_t n = ::read(fd, buffer, capacity);
            if (n >= 0) return static_cast<std::size_t>(n);
            if (errno != EINTR) return errno_error("read");
        }
    };
}

Source source_of(std::string_view bytes) {
    return [rest = bytes](char* buffer, std::size_t capacity) mutable -> Result<std::size_t> {
        const std::size_t n = std::min(capacity, rest.size());
        if (n > 0) std::memcpy(buffer, rest.data(), n);
        rest.remove_prefix(n);
        return n;
    };
}

Result<std::string> compress_frame(std::string_view content, int level) {
    ZSTD_CCtx* context = compressor(level);
    if (context == nullptr) return no_memory();
    std::string frame;
    frame.resize(ZSTD_compressBound(content.size()));
    const std::size_t size = ZSTD_compress2(context, frame.data(), frame.size(), content.data(), content.size());
    if (ZSTD_isError(size) != 0) return Error{ErrorKind::kNoSpace, std::string("zstd: ") + ZSTD_getErrorName(size)};
    frame.resize(size);
    return frame;
}

Result<Digest> compress_frame(const Source& source, std::int64_t size, int level, const Sink& sink) {
    ZSTD_CCtx* context = compressor(level);
    if (context == nullptr) return no_memory();
    ZSTD_CCtx_setPledgedSrcSize(context, static_cast<unsigned long long>(size));
    std::vector<char> plain(kChunk);
    std::vector<char> packed(ZSTD_CStreamOutSize());
    Hasher hasher;
    std::int64_t seen = 0;
    const Error changed{ErrorKind::kInput, "the file changed while it was read"};
    while (true) {
        TUNEFARM_ASSIGN(const std::size_t n, source(plain.data(), plain.size()));
        seen += static_cast<std::int64_t>(n);
        if (seen > size || (n == 0 && seen < size)) return changed;
        hasher.add(std::string_view(plain.data(), n));
        ZSTD_inBuffer input{plain.data(), n, 0};
        std::size_t left = 0;
        do {
            ZSTD_outBuffer output{packed.data(), packed.size(), 0};
            left = ZSTD_compressStream2(context, &output, &input, n == 0 ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left) != 0)
                return Error{ErrorKind::kNoSpace, std::string("zstd: ") + ZSTD_getErrorName(left)};
            if (output.pos > 0) TUNEFARM_TRY(sink(std::string_view(packed.data(), output.pos)));
        } while (input.pos < input.size || (n == 0 && left != 0));
        if (n == 0) return hasher.finish();
    }
}

Result<std::int64_t> declared_size(std::string_view head) {
    const unsigned long long size = ZSTD_getFrameContentSize(head.data(), head.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > (1ULL << 62U)) {
        return corrupt("not a zstd frame that declares its size");
    }
    return static_cast<std::int64_t>(size);
}

Status decompress_frame(const Source& source, const Digest& digest, std::int64_t limit, const Sink& sink) {
    ZSTD_DCtx* context = decompressor();
    if (context == nullptr) return no_memory();
    std::vector<char> packed(kChunk);
    std::vector<char> plain(ZSTD_DStreamOutSize());
    Hasher hasher;
    std::int64_t declared = -1;
    std::int64_t seen = 0;
    std::size_t wanted = 1;  // zstd's hint; 0 when the frame is complete
    while (true) {
        TUNEFARM_ASSIGN(const std::size_t n, source(packed.data(), packed.size()));
        if (n == 0) break;
        if (declared < 0) {
            TUNEFARM_ASSIGN(declared, declared_size(std::string_view(packed.data(), n)));
            if (declared > limit) {
                return Error{ErrorKind::kInput, "artifact " + digest.hex() + ": has " + std::to_string(declared) +
                                                    " bytes; the limit is " + std::to_string(limit)};
            }
        }
        ZSTD_inBuffer input{packed.data(), n, 0};
        bool full = false;
        while (input.pos < input.size || full) {
            if (wanted == 0) return corrupt("bytes after its end");
            ZSTD_outBuffer output{plain.data(), plain.size(), 0};
            wanted = ZSTD_decompressStream(context, &output, &input);
            if (ZSTD_isError(wanted) != 0) return corrupt(ZSTD_getErrorName(wanted));
            full = output.pos == output.size && wanted != 0;
            seen += static_cast<std::int64_t>(output.pos);
            if (seen > declared) return corrupt("more bytes than declared");
            const std::string_view bytes(plain.data(), output.pos);
            hasher.add(bytes);
            TUNEFARM_TRY(sink(bytes));
        }
    }
    if (wanted != 0 || seen != declared) return corrupt("truncated");
    if (hasher.finish() != digest) return corrupt("its content is not what its name says, " + digest.hex());
    return {};
}

}  // namespace tunefarm::storage
