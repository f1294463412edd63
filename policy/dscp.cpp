#include "policy/dscp.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>

namespace policy {
namespace {

struct CodePoint {
    std::uint8_t value;
    std::string_view name;
};
// RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA), RFC 8622 (LE). The first name of a value is printed.
constexpr std::array code_points{
    CodePoint{0, "CS0"},   CodePoint{0, "BE"},    CodePoint{0, "DF"},    CodePoint{1, "LE"},    CodePoint{8, "CS1"},
    CodePoint{10, "AF11"}, CodePoint{12, "AF12"}, CodePoint{14, "AF13"}, CodePoint{16, "CS2"},  CodePoint{18, "AF21"},
    CodePoint{20, "AF22"}, CodePoint{22, "AF23"}, CodePoint{24, "CS3"},  CodePoint{26, "AF31"}, CodePoint{28, "AF32"},
    CodePoint{30, "AF33"}, CodePoint{32, "CS4"},  CodePoint{34, "AF41"}, CodePoint{36, "AF42"}, CodePoint{38, "AF43"},
    CodePoint{40, "CS5"},  CodePoint{44, "VA"},   CodePoint{46, "EF"},   CodePoint{48, "CS6"},  CodePoint{56, "CS7"},
};

bool equal_in_any_case(std::string_view left, std::string_view right) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](char a, char b) {
        return std::toupper(static_cast<unsigned char>(a)) == std::toupper(static_cast<unsigned char>(b));
    });
}

}  // namespace

std::string dscp_text(std::uint8_t dscp) {
    const std::string_view name = name_of_dscp(dscp);
    return name.empty() ? fmt::to_string(dscp) : fmt::format("{} ({})", name, dscp);
}

std::string_view name_of_dscp(std::uint8_t dscp) {
    for (const CodePoint& point : code_points)
        if (point.value == dscp) return point.name;
    return {};
}

std::optional<std::uint8_t> dscp_named(std::string_view name) {
    for (const CodePoint& point : code_points)
        if (equal_in_any_case(point.name, name)) return point.value;
    return {};
}

}  // namespace policy
