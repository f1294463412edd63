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

# rdma_layer(<folder> [COLD] [LINKS <library>...] [EXCEPT <subfolder>] [OPTIONS <option>...])
#
# A folder of the house is one library. cmake/layers.txt says which folders it may include; it links exactly these, and
# the CTest `layering.<folder>` holds its files to them: all headers share the repository's root, so the compiler alone
# would not object. LINKS names libraries from outside, private to the folder. EXCEPT is a subfolder that is a target of
# its own. COLD and OPTIONS say how the folder is compiled (rdma_product).
function(rdma_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "EXCEPT" "LINKS;OPTIONS")
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
# and fmt, become the CTests `unit.<area>.*`. An area is the folder's own name, or a part of it: `dissect/tcp`. SLOW
# areas have the label `slow`, all others `fast`.
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
  gtest_discover_tests(${target} TEST_PREFIX ${prefix} NO_PRETTY_TYPES NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60
                       PROPERTIES TIMEOUT 300 PROCESSORS 2 LABELS ${label})
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
