# rdma_layer(<folder> [USES <folder>...] [LINKS <library>...] [EXCEPT <subfolder>])
#
# A folder of the house is one library. USES is at once what it links, what it may include, and what the CTest
# `layering.<folder>` enforces: all headers share the repository's root, so the compiler alone would not object.
# LINKS names libraries from outside, private to the folder. EXCEPT is a part that is no part of the library.
function(rdma_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXCEPT" "USES;LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${arg_EXCEPT}/")
  endif()
  if(sources)
    add_library(rdma_${name} STATIC ${sources})
    target_include_directories(rdma_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(rdma_${name} PUBLIC $<BUILD_INTERFACE:rdma_warnings>)
    target_link_libraries(rdma_${name} PRIVATE ${arg_LINKS})
    foreach(used IN LISTS arg_USES)
      target_link_libraries(rdma_${name} PUBLIC rdma_${used})
    endforeach()
  else()
    add_library(rdma_${name} INTERFACE)
    target_include_directories(rdma_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(rdma_${name} INTERFACE $<BUILD_INTERFACE:rdma_warnings> ${arg_LINKS})
    foreach(used IN LISTS arg_USES)
      target_link_libraries(rdma_${name} INTERFACE rdma_${used})
    endforeach()
  endif()
  add_library(rdma::${name} ALIAS rdma_${name})
  list(JOIN arg_USES "," uses)
  add_test(NAME layering.${name}
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${name} -DUSES=${uses} -DROOT=${PROJECT_SOURCE_DIR}
            -P ${PROJECT_SOURCE_DIR}/cmake/check_layer.cmake)
endfunction()

# What is tested is compiled as it is shipped; the tests themselves need no speed, and half of the build's time was theirs.
add_library(rdma_test_options INTERFACE)
if(RDMASCOPE_SANITIZE)
  target_compile_options(rdma_test_options INTERFACE -O0)
else()
  target_compile_options(rdma_test_options INTERFACE $<$<CONFIG:Release>:-O1>)
endif()
if(RDMASCOPE_PRECOMPILE)
  # ccache looks into precompiled headers only where the compiler tells what they hold, and they hold no time. GCC 12 then
  # forgets that they are the system's, and warns within them of what is not there.
  target_compile_options(rdma_test_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>
    "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

# rdma_unit_test(<area> <folder> [LINKS <library>...]): tests/unit/<area>/*.cpp, linked with the folder's library and
# fmt, become the CTests `unit.<area>.*`. An area is the folder's own name, or a part of it: `dissect/stream`.
function(rdma_unit_test area folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINKS")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/${area}/*.cpp)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" target "unit_${area}")
  string(REPLACE "/" "." prefix "unit.${area}.")
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE rdma::${folder} rdma_warnings ${arg_LINKS} GTest::gtest_main GTest::gmock)
  target_compile_definitions(${target} PRIVATE RDMASCOPE_PCAPS="${PROJECT_SOURCE_DIR}/pcaps")
  target_link_libraries(${target} PRIVATE rdma_test_options fmt::fmt)
  rdma_precompile_test(${target})
  gtest_discover_tests(${target} TEST_PREFIX ${prefix} NO_PRETTY_TYPES NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
