// SPDX-License-Identifier: MIT
#include "worker/toolchains/gemm/problem.h"

namespace tunefarm::gemm {

std::optional<DataType> parse_data_type(std::string_view text) {
    if (text == "s" || text == "S" || text == "float" || text == "Float") return DataType::kFloat;
    if (text == "d" || text == "D" || text == "double" || text == "Double") return DataType::kDouble;
    if (text == "h" || text == "H" || text == "half" || text == "Half") return DataType::kHalf;
    return std::nullopt;
}

char to_char(DataType type) {
    return type == DataType::kFloat ? 'S' : type == DataType::kDouble ? 'D' : 'H';
}

int size_of(DataType type) {
    return type == DataType::kFloat ? 4 : type == DataType::kDouble ? 8 : 2;
}

std::string ProblemType::name() const {
    // Indices in TensileLite's order: i, j, then k for the batch; the summation index is the next letter.
    const std::string sum = batched ? "l" : "k";
    const std::string tail = batched ? "k" : "";
    std::string text = "Cij" + tail;
    text += "_A" + (transpose_a ? sum + "i" : "i" + sum) + tail;
    text += "_B" + (transpose_b ? "j" + sum : sum + "j") + tail;
    text += type == DataType::kHalf ? "_HHS_" : std::string("_") + to_char(type) + "_";
    if (use_beta) text += "B";
    if (type == DataType::kHalf) text += "H";
    while (text.back() == '_') text.pop_back();
    return text;
}

std::string Problem::name() const {
    std::string text =
        std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(batch) + "x" + std::to_string(k);
    if (ldd != 0 || ldc != 0 || lda != 0 || ldb != 0) {
        text += "_ld" + std::to_string(ldd) + "x" + std::to_string(ldc) + "x" + std::to_string(lda) + "x" +
                std::to_string(ldb);
    }
    return text;
}

double Problem::flop() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(batch) * static_cast<double>(k);
}

Problem Problem::with_leading_dimensions(const ProblemType& type) const {
    Problem full = *this;
    if (full.ldd == 0) full.ldd = m;
    if (full.ldc == 0) full.ldc = m;
    if (full.lda == 0) full.lda = type.transpose_a ? k : m;
    if (full.ldb == 0) full.ldb = type.transpose_b ? n : k;
    return full;
}

}  // namespace tunefarm::gemm
