# One interface target carries what every target of the house is compiled with.
add_library(rdma_warnings INTERFACE)
target_compile_options(rdma_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast
  $<$<BOOL:${RDMASCOPE_WERROR}>:-Werror>)
if(RDMASCOPE_SANITIZE)
  target_compile_options(rdma_warnings INTERFACE -fsanitize=${RDMASCOPE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(rdma_warnings INTERFACE -fsanitize=${RDMASCOPE_SANITIZE})
endif()
