#include "upper/assignment.h"

#include <charconv>
#include <string_view>

#include "upper/upper_protocol.h"

namespace upper {

base::Result<Assignment, std::string> parse_assignment(const std::string& text) {
    const base::Failure<std::string> expected{
        "PORT=PROTOCOL or qp:NUMBER=PROTOCOL, such as 4420=nvme (protocols: " + protocol_names() + ")"};
    const std::size_t equal = text.find('=');
    if (equal == std::string::npos) return expected;
    Assignment assignment;
    assignment.protocol = find_protocol(std::string_view(text).substr(equal + 1));
    if (assignment.protocol == nullptr) return expected;
    std::string_view number = std::string_view(text).substr(0, equal);
    if (number.starts_with("qp:")) {
        assignment.is_queue_pair = true;
        number.remove_prefix(3);
    }
    const bool is_hex = number.starts_with("0x");
    if (is_hex) number.remove_prefix(2);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), assignment.number, is_hex ? 16 : 10);
    const std::uint32_t most = assignment.is_queue_pair ? 0xffffff : 0xffff;
    if (number.empty() || error != std::errc{} || end != number.data() + number.size() || assignment.number > most)
        return expected;
    return assignment;
}

}  // namespace upper
