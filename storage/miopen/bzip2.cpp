// SPDX-License-Identifier: MIT
#include "storage/miopen/bzip2.h"

#include <bzlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace tunefarm::miopen {

namespace {

constexpr std::size_t kChunk = 1U << 20U;

class Decompressor {
  public:
    Decompressor() : open_(BZ2_bzDecompressInit(&stream, 0, 0) == BZ_OK) {}
    ~Decompressor() {
        if (open_) BZ2_bzDecompressEnd(&stream);
    }
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;
    bool open() const { return open_; }

    bz_stream stream{};

  private:
    bool open_;
};

/// libbz2 takes a pointer to char that it does not write through.
char* input(std::string_view bytes) {
    return const_cast<char*>(bytes.data());
}

Error damaged(std::size_t offset, const char* what) {
    return Error{ErrorKind::kCorruption, std::string("bzip2 data is ") + what + " at byte " + std::to_string(offset)};
}

}  // namespace

bool is_bzip2(std::string_view bytes) {
    return bytes.size() > 4 && bytes.starts_with("BZh") && bytes[3] >= '1' && bytes[3] <= '9';
}

Result<std::string> bzip2_decompress(std::string_view compressed, std::int64_t limit) {
    std::string content;
    std::size_t offset = 0;
    do {
        Decompressor decompressor;
        if (!decompressor.open()) return Error{ErrorKind::kNoSpace, "bzip2: out of memory"};
        bz_stream& stream = decompressor.stream;
        int code = BZ_OK;
        while (code != BZ_STREAM_END) {
            if (stream.avail_in == 0) {
                const std::string_view rest = compressed.substr(offset);
                stream.next_in = input(rest);
                stream.avail_in =
                    static_cast<unsigned>(std::min<std::size_t>(rest.size(), std::numeric_limits<unsigned>::max()));
            }
            const std::size_t size = content.size();
            content.resize(std::max(content.capacity(), size + std::min(kChunk, 4 * compressed.size() + 1024)));
            stream.next_out = content.data() + size;
            stream.avail_out = static_cast<unsigned>(
                std::min<std::size_t>(content.size() - size, std::numeric_limits<unsigned>::max()));
            const unsigned in_before = stream.avail_in;
            const unsigned out_before = stream.avail_out;
            code = BZ2_bzDecompress(&stream);
            const unsigned taken = in_before - stream.avail_in;
            const unsigned made = out_before - stream.avail_out;
            offset += taken;
            content.resize(size + made);
            if (code == BZ_MEM_ERROR) return Error{ErrorKind::kNoSpace, "bzip2: out of memory"};
            if (code != BZ_OK && code != BZ_STREAM_END) return damaged(offset, "damaged");
            if (code == BZ_OK && taken == 0 && made == 0) return damaged(offset, "cut off");
            if (static_cast<std::int64_t>(content.size()) > limit) {
                return Error{ErrorKind::kInput,
                             "bzip2 data expands beyond the limit of " + std::to_string(limit) + " bytes"};
            }
        }
    } while (offset < compressed.size());
    return content;
}

Result<std::string> bzip2_compress(std::string_view bytes) {
    if (bytes.size() > std::numeric_limits<unsigned>::max() / 2) {
        return Error{ErrorKind::kUnsupported, "bzip2: more than 2 GiB to compress at once"};
    }
    std::string compressed;
    compressed.resize(bytes.size() + bytes.size() / 100 + 600);  // the bound of libbz2's manual
    auto size = static_cast<unsigned>(compressed.size());
    constexpr int level = 9;
    const int code = BZ2_bzBuffToBuffCompress(compressed.data(), &size, input(bytes),
                                              static_cast<unsigned>(bytes.size()), level, 0, 0);
    if (code != BZ_OK) return Error{ErrorKind::kNoSpace, "bzip2: compression failed (" + std::to_string(code) + ")"};
    compressed.resize(size);
    return compressed;
}

}  // namespace tunefarm::miopen
