# SPDX-License-Identifier: MIT
# Every library comes from Debian 12; `./tunefarm` installs the packages (cmake/packages.txt).
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CapnProto CONFIG REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(zstd CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
pkg_check_modules(zmq REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
if(TUNEFARM_TESTS)
    find_package(GTest CONFIG REQUIRED)
    find_package(benchmark CONFIG REQUIRED)
    pkg_check_modules(openblas IMPORTED_TARGET openblas)
endif()

if(TUNEFARM_SANITIZE STREQUAL "thread")
    # The compiled spdlog is not instrumented; its header-only form is, because we compile it.
    set_target_properties(spdlog::spdlog PROPERTIES INTERFACE_COMPILE_DEFINITIONS "SPDLOG_FMT_EXTERNAL")
endif()
