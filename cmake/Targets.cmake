# SPDX-License-Identifier: MIT
# tunefarm_library(name SOURCES … LINKS …), tunefarm_program(…), tunefarm_test(…): targets with the project's flags.

add_library(tunefarm_flags INTERFACE)
target_include_directories(tunefarm_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(tunefarm_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Wold-style-cast
    -Woverloaded-virtual -Wnull-dereference $<$<BOOL:${TUNEFARM_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 reports false positives of these two inside libstdc++ and in std::variant at -O2.
    target_compile_options(tunefarm_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-null-dereference)
else()
    # clang reports libstdc++ 12's own use of std::get_temporary_buffer at each std::stable_sort.
    target_compile_options(tunefarm_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(TUNEFARM_SANITIZE)
    target_compile_options(tunefarm_flags INTERFACE
        -fsanitize=${TUNEFARM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(tunefarm_flags INTERFACE -fsanitize=${TUNEFARM_SANITIZE})
endif()
if(TUNEFARM_FUZZ)
    # Coverage feedback from the libraries under test; the fuzz targets themselves add the driver.
    target_compile_options(tunefarm_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(TUNEFARM_COVERAGE)
    target_compile_options(tunefarm_flags INTERFACE --coverage)
    target_link_options(tunefarm_flags INTERFACE --coverage)
endif()

# Cap'n Proto 0.9.2 needs two operators with clang >= 16 in C++20 (see the header).
set(TUNEFARM_CAPNP_SHIM -include ${CMAKE_SOURCE_DIR}/protocol/capnp_clang_shim.h)

# `programs`: what `./tunefarm` needs to run. `thread_tests`: what the sanitizer builds of .ci/run need.
add_custom_target(programs)
add_custom_target(thread_tests)

function(tunefarm_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
    add_library(${name} STATIC ${ARG_SOURCES})
    target_link_libraries(${name} PUBLIC tunefarm_flags ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
endfunction()

# A program of the build's bin folder. Those of tests/ and benchmarks/ are not part of `programs`.
function(tunefarm_program name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE tunefarm_flags ${ARG_LINKS})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
    if(NOT folder MATCHES "^(tests|benchmarks)")
        add_dependencies(programs ${name})
    endif()
endfunction()

# The absolute paths are in a header of their own, so that ccache serves every other object to a second checkout.
configure_file(${CMAKE_SOURCE_DIR}/cmake/build_paths.h.in ${CMAKE_BINARY_DIR}/build_paths.h @ONLY)

if(TUNEFARM_TESTS)
    include(GoogleTest)
endif()
# One test program per folder under test. LABELS: `slow` for tests over a second, `threads` for those that the
# sanitizer stages of .ci/run build and run. SERIAL: nothing else runs meanwhile (tests that measure time).
function(tunefarm_test name)
    cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "SOURCES;LINKS;LABELS" ${ARGN})
    if(NOT ARG_TIMEOUT)
        set(ARG_TIMEOUT 60)
    endif()
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE tunefarm_flags ${ARG_LINKS} GTest::gtest GTest::gtest_main)
    set(properties TIMEOUT ${ARG_TIMEOUT})
    if(ARG_SERIAL)
        list(APPEND properties RUN_SERIAL ON)
    endif()
    if(TUNEFARM_SANITIZE STREQUAL "thread")
        list(APPEND properties ENVIRONMENT "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/tsan.supp")
    endif()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
    if(ARG_LABELS)
        # PROPERTIES cannot carry a list, so the labels follow in a file that CTest reads after the discovered tests.
        set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
        file(WRITE ${labels_file} "set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${ARG_LABELS}\")\n")
        set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
    endif()
    if("threads" IN_LIST ARG_LABELS)
        add_dependencies(thread_tests ${name})
    endif()
endfunction()
