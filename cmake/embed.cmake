# cmake -DFILE=capture.gz -DNAMESPACE=cli::demo -DNAME=bytes -DOUT=bytes.cpp -P embed.cmake
#
# Writes a C++ file that defines NAMESPACE::NAME, a span of FILE's bytes.
cmake_minimum_required(VERSION 3.25)
file(READ ${FILE} octets HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," octets "${octets}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" octets "${octets}")
file(WRITE ${OUT} "#include <span>

namespace ${NAMESPACE} {
namespace {
constexpr unsigned char stored[] = {
${octets}
};
}  // namespace
extern const std::span<const unsigned char> ${NAME};
constinit const std::span<const unsigned char> ${NAME}{stored};
}  // namespace ${NAMESPACE}
")
