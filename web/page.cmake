# Sets rdma_page to the file of the page: bundled from web/, or a text that says why there is none. The global property
# RDMASCOPE_HAS_PAGE says which.
option(RDMASCOPE_PAGE "Bundle the page of `rdmascope report` and of the daemon" ON)
set(web ${PROJECT_SOURCE_DIR}/web)
set(rdma_page ${PROJECT_BINARY_DIR}/web/page.html)
find_program(RDMASCOPE_NODE node)
find_program(RDMASCOPE_ESBUILD esbuild)
find_program(RDMASCOPE_TSC tsc)
find_path(RDMASCOPE_NODE_MODULES d3-scale/package.json PATHS /usr/share/nodejs NO_DEFAULT_PATH)

set(missing_packages)
foreach(part RDMASCOPE_NODE=nodejs RDMASCOPE_ESBUILD=esbuild RDMASCOPE_TSC=node-typescript RDMASCOPE_NODE_MODULES=node-d3)
  string(REPLACE "=" ";" part ${part})
  list(GET part 0 variable)
  list(GET part 1 package)
  if(NOT ${variable})
    list(APPEND missing_packages ${package})
  endif()
endforeach()

if(RDMASCOPE_PAGE AND NOT missing_packages)
  set_property(GLOBAL PROPERTY RDMASCOPE_HAS_PAGE ON)
  set(page_comment "Embedding the page of reports")
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/* ${web}/schema/*)
  add_custom_command(OUTPUT ${rdma_page}
    COMMAND ${CMAKE_COMMAND} -E env NODE_PATH=${RDMASCOPE_NODE_MODULES} ESBUILD=${RDMASCOPE_ESBUILD} TSC=${RDMASCOPE_TSC}
            ${RDMASCOPE_NODE} ${web}/build.mjs ${PROJECT_BINARY_DIR}/web
    DEPENDS ${web_sources} ${web}/build.mjs ${web}/types.mjs
    COMMENT "Bundling the page of reports" VERBATIM)
else()
  set_property(GLOBAL PROPERTY RDMASCOPE_HAS_PAGE OFF)
  if(missing_packages)
    list(JOIN missing_packages ", " names)
    set(no_page "this program was built without the page, because Debian's packages for it were missing: ${names}. Install them and build again: `./dev build` does both.")
  else()
    set(no_page "this program was built without the page, because RDMASCOPE_PAGE was off. Build again with -DRDMASCOPE_PAGE=ON.")
  endif()
  message(NOTICE "-- `rdmascope report` and the daemon's live page are left out: ${no_page}")
  set(page_comment "Leaving out the page of reports: see what cmake printed")
  set(rdma_page ${PROJECT_BINARY_DIR}/web/no-page.txt)
  file(CONFIGURE OUTPUT ${rdma_page} CONTENT "${no_page}" @ONLY)
endif()
