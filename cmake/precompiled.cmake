# What unit tests include most takes longer to parse than the tests: it is precompiled once for all of them. The tests
# include what they use all the same; the presets without it notice where one does not.
option(RDMASCOPE_PRECOMPILE "Precompile the headers of GoogleTest and fmt for the unit tests" OFF)

# rdma_precompile_test(<target>): of a unit test that is compiled with what rdma_test_options says, and links fmt.
function(rdma_precompile_test target)
  if(NOT RDMASCOPE_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET precompiled_test)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_test.cpp CONTENT "// Carries what unit tests include.\n")
    add_library(precompiled_test OBJECT ${PROJECT_BINARY_DIR}/precompiled_test.cpp)
    target_link_libraries(precompiled_test PRIVATE rdma_warnings rdma_test_options fmt::fmt GTest::gtest_main GTest::gmock)
    target_precompile_headers(precompiled_test PRIVATE <algorithm> <array> <cstdint> <functional> <map> <memory> <optional>
                              <string> <string_view> <vector> <fmt/format.h> <gtest/gtest.h> <gmock/gmock.h>)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_test)
endfunction()
