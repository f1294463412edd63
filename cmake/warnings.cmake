# One interface target carries what every target of the house is compiled with.
add_library(rdma_warnings INTERFACE)
target_compile_options(rdma_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast
  $<$<BOOL:${RDMASCOPE_WERROR}>:-Werror>)
# g++ joins a product and a sum into one instruction where every processor of the architecture has it, as on arm64. The
# sum is then rounded once, not twice, and a figure may differ from what x86-64 prints of the same capture.
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(rdma_warnings INTERFACE -ffp-contract=off)
endif()
if(RDMASCOPE_SANITIZE)
  target_compile_options(rdma_warnings INTERFACE -fsanitize=${RDMASCOPE_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(rdma_warnings INTERFACE -fsanitize=${RDMASCOPE_SANITIZE})
endif()
