# Sets rdma_page to the file of the page: bundled from web/, or an empty one that says why there is none.
set(web ${PROJECT_SOURCE_DIR}/web)
find_program(RDMASCOPE_NODE node)
find_program(RDMASCOPE_ESBUILD esbuild)
find_program(RDMASCOPE_TSC tsc)
find_path(RDMASCOPE_NODE_MODULES d3-scale/package.json PATHS /usr/share/nodejs NO_DEFAULT_PATH)
if(RDMASCOPE_NODE AND RDMASCOPE_ESBUILD AND RDMASCOPE_TSC AND RDMASCOPE_NODE_MODULES)
  set(rdma_page ${PROJECT_BINARY_DIR}/web/page.html)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/* ${web}/schema/*)
  add_custom_command(OUTPUT ${rdma_page}
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${RDMASCOPE_NODE_MODULES} ESBUILD=${RDMASCOPE_ESBUILD} TSC=${RDMASCOPE_TSC}
            ${RDMASCOPE_NODE} ${web}/build.mjs ${PROJECT_BINARY_DIR}/web
    DEPENDS ${web_sources} ${web}/build.mjs ${web}/types.mjs
    COMMENT "Bundling the page of reports" VERBATIM)
else()
  message(STATUS "rdmascope report is left out: it needs Debian's esbuild, node-d3, node-typescript and nodejs")
  set(rdma_page ${web}/no-page.txt)
endif()
