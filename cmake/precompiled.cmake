# Parsing headers takes most of a compilation's time. Two means spare it: headers that most sources include are
# precompiled, and up to 24 sources of a target are compiled as one. Sources include what they use all the same: where
# sources are not grouped, one that lacks a header of the product is reported, and in the presets without precompiled
# headers (clang, which the linters read, and dev) one that lacks a header of the library.
option(RDMASCOPE_UNITY "Compile the product's sources in groups, with precompiled headers" OFF)
option(RDMASCOPE_PRECOMPILED "Compile the product's sources one by one, with the library's headers precompiled" OFF)
option(RDMASCOPE_UNITY_TESTS "Compile the unit tests in groups, with precompiled headers" OFF)

# ccache uses precompiled headers only if the compiler reports what they hold, and if they hold no time.
set(precompiled_options $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")

# rdma_groups(<target>): compiles the C++ sources of the target in groups of about the same number.
function(rdma_groups target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(LENGTH sources count)
  if(count LESS 2)
    return()
  endif()
  math(EXPR groups "(${count} + 23) / 24")
  math(EXPR size "(${count} + ${groups} - 1) / ${groups}")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  # GCC takes the sources of a group for headers, in which a member of an anonymous namespace's type would be a mistake.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# rdma_product(<target> [COLD] [OPTIONS <option>...]): how all parts of the product are compiled. They are alike, so that
# they share precompiled headers and can be linked into shared objects; hidden symbols keep their code as fast as in a
# program. COLD is for code that no packet passes through: -O2 takes less time to compile than -O3. Call it after the
# target has its libraries.
function(rdma_product target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "OPTIONS")
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON)
  set(options ${arg_OPTIONS})
  if(arg_COLD AND CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND options -O2)
  endif()
  if(RDMASCOPE_UNITY AND NOT arg_COLD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC limits how much inlining may enlarge a unit. A group of sources has the limit of as many units, or else the
    # packet path calls what its sources alone have inline (5 % more instructions for an iWARP segment).
    list(APPEND options --param=large-unit-insns=240000)
  endif()
  target_compile_options(${target} PRIVATE ${options})
  if(NOT RDMASCOPE_UNITY AND NOT RDMASCOPE_PRECOMPILED)
    return()
  endif()
  if(RDMASCOPE_UNITY)
    rdma_groups(${target})
  endif()
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(NOT "fmt::fmt" IN_LIST libraries)
    return()  # the precompiled headers include fmt
  endif()
  set(kind precompiled)
  if(arg_COLD)
    set(kind precompiled_cold)
  endif()
  string(MAKE_C_IDENTIFIER "${kind}${options}" carrier)
  if(NOT TARGET ${carrier})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${carrier}.cpp CONTENT "// Carries what most sources include.\n")
    add_library(${carrier} OBJECT ${PROJECT_BINARY_DIR}/${carrier}.cpp)
    set_target_properties(${carrier} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                          VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(${carrier} PRIVATE ${options} ${precompiled_options})
    target_link_libraries(${carrier} PRIVATE rdma_warnings fmt::fmt)
    target_precompile_headers(${carrier} PRIVATE <algorithm> <array> <bit> <charconv> <chrono> <cstdint> <cstring> <deque>
                              <functional> <map> <memory> <optional> <span> <string> <string_view> <unordered_map>
                              <vector> <fmt/format.h> $<$<BOOL:${arg_COLD}>:<nlohmann/json.hpp$<ANGLE-R>>)
  endif()
  # GCC 12 forgets that precompiled headers are the system's, and warns of faults that they do not have.
  target_compile_options(${target} PRIVATE ${precompiled_options}
    $<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds;-Wno-error=restrict;-Wno-error=stringop-overflow;-Wno-error=maybe-uninitialized>)
  target_precompile_headers(${target} REUSE_FROM ${carrier})
endfunction()

# rdma_precompile_test(<target>): of a unit test that is compiled with what rdma_test_options says, and links fmt. Call
# it before sources of other folders are added, which are compiled alone.
function(rdma_precompile_test target)
  if(NOT RDMASCOPE_UNITY_TESTS)
    return()
  endif()
  rdma_groups(${target})
  if(NOT TARGET precompiled_test)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_test.cpp CONTENT "// Carries what unit tests include.\n")
    add_library(precompiled_test OBJECT ${PROJECT_BINARY_DIR}/precompiled_test.cpp)
    target_link_libraries(precompiled_test PRIVATE rdma_warnings rdma_test_options fmt::fmt GTest::gtest_main GTest::gmock)
    target_precompile_headers(precompiled_test PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional>
                              <string> <string_view> <vector> <fmt/format.h> <gtest/gtest.h> <gmock/gmock.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_test)
endfunction()
