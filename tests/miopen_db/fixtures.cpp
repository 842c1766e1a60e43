// SPDX-License-Identifier: MIT
#include "tests/miopen_db/fixtures.h"

#include <algorithm>
#include <filesystem>

#include "storage/miopen/bzip2.h"

namespace tunefarm::miopen {

TemporaryFolder::TemporaryFolder() {
    Result<std::string> made = make_temporary_directory("/tmp/tunefarm-miopen-test-");
    EXPECT_TRUE(made.ok());
    if (made.ok()) path_ = *made;
}

TemporaryFolder::~TemporaryFolder() {
    EXPECT_TRUE(remove_tree(path_).ok());
}

std::string TemporaryFolder::path(std::string_view name) const {
    return path_ + "/" + std::string(name);
}

std::string TemporaryFolder::write(std::string_view name, std::string_view content) const {
    EXPECT_TRUE(write_file_atomically(path(name), content).ok());
    return path(name);
}

std::vector<std::string> TemporaryFolder::names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    std::ranges::sort(names);
    return names;
}

std::string content_of(const std::string& path) {
    Result<std::string> content = read_file(path, 1LL << 30);
    EXPECT_TRUE(content.ok()) << content.error().message;
    return content.ok() ? std::move(content).value() : std::string();
}

std::string to_lines(const Issues& issues) {
    std::string lines;
    for (const Issue& issue : issues.kept()) lines += to_string(issue) + "\n";
    return lines;
}

KernelRow kernel_row(std::string name, std::string args, std::string object) {
    KernelRow row;
    row.name = std::move(name);
    row.args = std::move(args);
    row.uncompressed_size = static_cast<std::int64_t>(object.size());
    row.hash = *md5_hex(object);
    row.blob = *bzip2_compress(object);
    return row;
}

std::string large_find_db(int keys) {
    std::string text;
    for (int i = 0; i < keys; ++i) {
        text += std::to_string(1000 + i) + "-28-28-3x3-128-28-28-16-1x1-1x1-1x1-0-NCHW-FP32-F=";
        text +=
            "ConvBinWinogradRxSf2x3:0.051639,0,miopenConvolutionFwdAlgoWinograd;"
            "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC:0.059578,13714688,miopenConvolutionFwdAlgoImplicitGEMM;"
            "ConvDirectNaiveConvFwd:1.25,0,miopenConvolutionFwdAlgoDirect;"
            "GemmFwdRest:2.5,802816,miopenConvolutionFwdAlgoGEMM\n";
    }
    return text;
}

}  // namespace tunefarm::miopen
