/// Writes synthetic traffic: make_traffic KIND OUT OCTETS [PAIRS [FLOWS]], where KIND is roce-1k, roce-64, iwarp-64 or
/// iwarp-1420, and FLOWS those of each pair of hosts.
#include <charconv>
#include <cstdio>
#include <string_view>

#include "capture/files/writer.h"
#include "tests/model/bulk.h"

namespace {

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

}  // namespace

int main(int count, char** arguments) {
    const auto kind = count < 4 ? std::nullopt : model::bulk_kind(arguments[1]);
    if (!kind)
        return std::fputs("usage: make_traffic roce-1k|roce-64|iwarp-64|iwarp-1420 OUT OCTETS [PAIRS [FLOWS]]\n",
                          stderr),
               2;
    const std::uint64_t octets = number(arguments[3]);
    const auto pairs = static_cast<std::uint32_t>(count > 4 ? number(arguments[4]) : 4);
    const auto flows = static_cast<std::uint32_t>(count > 5 ? number(arguments[5]) : 16);
    if (pairs == 0 || flows == 0) return std::fputs("make_traffic: no pairs or no flows\n", stderr), 2;
    capture::WriterOptions options;
    options.format = capture::format_of_name(arguments[2]);
    options.precision = capture::TimePrecision::nano;
    auto writer = capture::open_writer(arguments[2], options);
    if (!writer.ok()) return std::fprintf(stderr, "%s\n", writer.error().text().c_str()), 1;
    capture::InterfaceInfo interface;
    interface.ticks_per_sec = 1'000'000'000;
    model::BulkTraffic traffic(*kind, pairs, flows);
    bool good = true;
    for (std::uint64_t i = 1; good && (*writer)->octets() < octets; ++i)
        good = (*writer)->write(traffic.next().frame(i), interface) == capture::WriteStatus::ok;
    if (!(*writer)->close() || !good) return std::fprintf(stderr, "%s\n", (*writer)->error().text().c_str()), 1;
    return 0;
}
