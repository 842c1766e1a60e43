// SPDX-License-Identifier: MIT
// The tables of `export`: their queries, whose column names are the header. Not for other folders.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tunefarm::storage {

struct ExportTable {
    enum class Parameter : std::uint8_t {
        kCampaign,  ///< runs once, ?1 is the campaign
        kStep,      ///< runs for each step of the campaign by id, ?1 is the step
    };
    std::string_view name;
    Parameter parameter;
    const char* sql;
    bool reads_document = false;  ///< ?2 is the text of the step's document; steps without one have no rows
};

std::span<const ExportTable> export_tables();

enum class ExportType : std::uint8_t { kPlain, kBoolean, kJson };
/// By name: a column means the same in all tables.
ExportType export_type(std::string_view column);

}  // namespace tunefarm::storage
