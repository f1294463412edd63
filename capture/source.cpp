#include "capture/source.h"

namespace capture {
namespace {

void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& more) {
    if (more) sum = sum.value_or(0) + *more;
}

}  // namespace

Statistics& Statistics::operator+=(const Statistics& other) {
    add(received, other.received);
    add(kernel_dropped, other.kernel_dropped);
    add(interface_dropped, other.interface_dropped);
    return *this;
}

std::optional<std::uint32_t> Source::id_of(std::size_t interface) const {
    if (interfaces()[interface].name.empty()) return std::nullopt;
    return static_cast<std::uint32_t>(interface);
}

Statistics Source::statistics() const {
    Statistics sum;
    for (std::size_t i = 0; i < interfaces().size(); ++i) sum += statistics(i);
    return sum;
}

}  // namespace capture
