# The rows of cmake/layers.txt: folder | namespace | folders that it may include.
set(rdma_layer_table ${CMAKE_CURRENT_LIST_DIR}/layers.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rdma_layer_table})

# rdma_layer_folders(<variable>): the top folders of the table.
function(rdma_layer_folders result)
  file(STRINGS ${rdma_layer_table} rows REGEX "^[a-z]")
  list(TRANSFORM rows REPLACE "[/ |].*" "")
  list(REMOVE_DUPLICATES rows)
  set(${result} ${rows} PARENT_SCOPE)
endfunction()

# rdma_layer_uses(<folder> <variable>): the other top folders that a top folder, with its subfolders, may include.
function(rdma_layer_uses name result)
  file(STRINGS ${rdma_layer_table} rows REGEX "^${name}[/ ]")
  set(used "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^.*[|] *" "" cell "${row}")
    string(REGEX MATCHALL "[^ ]+" cells "${cell}")
    list(APPEND used ${cells})
  endforeach()
  list(TRANSFORM used REPLACE "/.*" "")
  list(REMOVE_DUPLICATES used)
  list(REMOVE_ITEM used ${name})
  set(${result} ${used} PARENT_SCOPE)
endfunction()

# rdma_cold_parts(<folder> <beginnings> <options>): compiles the sources of a layer whose paths begin so as COLD.
function(rdma_cold_parts name parts options)
  if(NOT parts)
    return()
  endif()
  get_target_property(all rdma_${name} SOURCES)
  set(cold "")
  foreach(part IN LISTS parts)
    set(sources ${all})
    list(FILTER sources INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${part}")
    list(APPEND cold ${sources})
  endforeach()
  list(REMOVE_ITEM all ${cold})
  set_target_properties(rdma_${name} PROPERTIES SOURCES "${all}")
  add_library(rdma_${name}_cold OBJECT ${cold})
  get_target_property(libraries rdma_${name} LINK_LIBRARIES)
  target_include_directories(rdma_${name}_cold PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(rdma_${name}_cold PRIVATE ${libraries})
  rdma_product(rdma_${name}_cold COLD OPTIONS ${options})
  target_sources(rdma_${name} PRIVATE $<TARGET_OBJECTS:rdma_${name}_cold>)
endfunction()

# rdma_layer(<folder> [COLD] [LINKS <library>...] [EXCEPT <subfolder>] [COLD_PARTS <beginning>...] [OPTIONS <option>...])
#
# A folder of the house is one library. cmake/layers.txt says which folders it may include; it links exactly these, and
# the CTest `layering.<folder>` holds its files to them: all headers share the repository's root, so the compiler alone
# would not object. LINKS names libraries from outside, private to the folder. EXCEPT is a subfolder that is a target of
# its own. COLD and OPTIONS say how the folder is compiled (rdma_product); COLD_PARTS are beginnings of paths that are COLD in a
# folder that is not.
function(rdma_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "EXCEPT" "LINKS;OPTIONS;COLD_PARTS")
  rdma_layer_uses(${name} arg_USES)
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
    set(cold "")
    if(arg_COLD)
      set(cold COLD)
    endif()
    rdma_cold_parts(${name} "${arg_COLD_PARTS}" "${arg_OPTIONS}")
    rdma_product(rdma_${name} ${cold} OPTIONS ${arg_OPTIONS})
  else()
    add_library(rdma_${name} INTERFACE)
    target_include_directories(rdma_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(rdma_${name} INTERFACE $<BUILD_INTERFACE:rdma_warnings> ${arg_LINKS})
    foreach(used IN LISTS arg_USES)
      target_link_libraries(rdma_${name} INTERFACE rdma_${used})
    endforeach()
  endif()
  add_library(rdma::${name} ALIAS rdma_${name})
endfunction()

# What unit tests are compiled with, above what tests/CMakeLists.txt says for all tests.
add_library(rdma_test_options INTERFACE)
if(RDMASCOPE_SANITIZE)
  target_compile_options(rdma_test_options INTERFACE -O0)
endif()
if(RDMASCOPE_UNITY_TESTS)
  # GCC 12 forgets that precompiled headers are the system's, and warns of faults that they do not have.
  target_compile_options(rdma_test_options INTERFACE ${precompiled_options}
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>)
endif()

# rdma_unit_test(<area> <folder> [SLOW] [LINKS <library>...]): tests/unit/<area>/*.cpp, linked with the folder's library
# and fmt, become the CTests `unit.<area>.<suite>`. An area is the folder's own name, or a part of it: `dissect/tcp`.
# SLOW areas have the label `slow`, all others `fast`.
function(rdma_unit_test area folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "SLOW" "" "LINKS")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/unit/${area}/*.cpp)
  if(NOT sources)
    return()
  endif()
  string(REPLACE "/" "_" target "unit_${area}")
  string(REPLACE "/" "." prefix "unit.${area}.")
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE rdma::${folder} rdma_warnings ${arg_LINKS} GTest::gtest_main GTest::gmock)
  target_link_libraries(${target} PRIVATE test_paths rdma_test_options fmt::fmt)
  rdma_precompile_test(${target})
  if(arg_SLOW)
    set(label slow)
  else()
    set(label fast)
    add_dependencies(fast_tests ${target})
  endif()
  rdma_discover_suites(${target} ${prefix} ${label})
endfunction()

# Patterns of --gtest_filter for tests that only the optimised build runs. What they show of sums, sizes and words does
# not depend on the compiler's options, and other tests run the same code under the sanitizers in a tenth of the time.
set(only_optimised "")
if(RDMASCOPE_SANITIZE)
  set(only_optimised Clauses.StandOnly* Intervals.merged* Merge.is_assoc* Shortcut.ChangesNoFigureOfAny* SenderTable.EveryFrame*
                     SenderTable.NeverToo* ManyFlows.* Timeline.stays* StreamLine.corrupts* RdmaFilter.every_port*
                     PrometheusTraffic.AHundred*)
  list(JOIN only_optimised ":" only_optimised)
endif()

# rdma_discover_suites(<target> <prefix> <label>): each suite of a test program is one CTest, `<prefix><suite>`. A process
# for each test would take longer than most tests.
function(rdma_discover_suites target prefix label)
  set(written ${CMAKE_CURRENT_BINARY_DIR}/${target}_suites.cmake)
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS ${written} VERBATIM
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}> "-DEMULATOR=$<TARGET_PROPERTY:${target},CROSSCOMPILING_EMULATOR>"
            -DPREFIX=${prefix} -DLABEL=${label} "-DLEAVE=${only_optimised}" -DOUTPUT=${written} -P ${PROJECT_SOURCE_DIR}/cmake/suites.cmake)
  set(included ${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake)
  file(WRITE ${included} "if(EXISTS \"${written}\")\n  include(\"${written}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${included})
endfunction()

# rdma_label(<label> <processors> [<test>...]): what the tests of this directory have, or these. Tests run twice as many
# at a time as there are processors: one that computes takes 2, one that mostly waits takes 1.
function(rdma_label label processors)
  set(tests ${ARGN})
  if(NOT tests)
    get_property(tests DIRECTORY PROPERTY TESTS)
  endif()
  if(tests)
    set_tests_properties(${tests} PROPERTIES LABELS ${label} PROCESSORS ${processors})
  endif()
endfunction()
