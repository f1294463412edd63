#include "replay/peer/message_comparison.h"

#include <algorithm>
#include <fmt/format.h>

namespace replay::inline peer {
namespace {

class Comparison {
public:
    Comparison(const Message& captured, std::vector<Difference>& out)
        : frame_(captured.last_frame), message_(text_of(captured)), out_(out) {}

    template <class T>
    bool same(std::string_view what, const T& captured, const T& live, const char* form = "{}") {
        if (captured == live) return true;
        add(what, fmt::format(fmt::runtime(form), captured), fmt::format(fmt::runtime(form), live));
        return false;
    }
    void add(std::string_view what, std::string captured, std::string live) {
        out_.push_back({frame_, message_, std::string(what), std::move(captured), std::move(live)});
    }

private:
    std::uint64_t frame_;
    std::string message_;
    std::vector<Difference>& out_;
};

const char* yes_no(bool yes) { return yes ? "yes" : "no"; }

std::string hex(const std::vector<std::byte>& octets, std::size_t from, std::size_t to) {
    std::string text;
    for (std::size_t i = from; i < std::min(to, octets.size()); ++i)
        text += fmt::format("{:02x}", std::to_integer<unsigned>(octets[i]));
    return text;
}

bool may_differ(const std::vector<SteeringPlace>& places, std::size_t at) {
    return std::any_of(places.begin(), places.end(),
                       [at](const SteeringPlace& place) { return at >= place.at && at < place.at + place.size; });
}

void compare_bodies(const Message& captured, const Message& live, const std::vector<SteeringPlace>& places,
                    Comparison& to) {
    to.same("bytes", captured.body.size(), live.body.size());
    const std::size_t common = std::min(captured.body.size(), live.body.size());
    std::size_t different = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < common; ++i) {
        if (captured.body[i] == live.body[i] || may_differ(places, i)) continue;
        if (different++ == 0) first = i;
    }
    if (different == 0) return;
    constexpr std::size_t shown = 16;
    to.add(fmt::format("{} bytes, from byte {}", different, first), hex(captured.body, first, first + shown),
           hex(live.body, first, first + shown));
}

void compare_starts(const wire::MpaStart& captured, const wire::MpaStart& live, Comparison& to) {
    to.same("CRC asked for", std::string(yes_no(captured.crc)), std::string(yes_no(live.crc)));
    to.same("markers asked for", std::string(yes_no(captured.marker)), std::string(yes_no(live.marker)));
    to.same("rejected", std::string(yes_no(captured.rejected)), std::string(yes_no(live.rejected)));
    to.same("reserved bits", captured.reserved, live.reserved, "0x{:02x}");
    to.same("revision", captured.revision, live.revision);
}

}  // namespace

void compare_messages(const Message& captured, const Message& live, const std::vector<SteeringPlace>& places,
                      std::vector<Difference>& out) {
    Comparison to(captured, out);
    if (captured.start && live.start) compare_starts(*captured.start, *live.start, to);
    if (captured.channel == Channel::terminate) {
        if (terminate_error(captured) != terminate_error(live)) to.add("error", text_of(captured), text_of(live));
        return;
    }
    to.same("opcode", captured.opcode, live.opcode);
    to.same("RDMAP version", captured.version, live.version);
    if (captured.channel != Channel::start && !captured.tagged()) {
        to.same("queue", captured.queue, live.queue);
        to.same("MSN", captured.msn, live.msn);
    }
    if (captured.tagged()) to.same("tagged offset", captured.offset, live.offset, "0x{:x}");
    to.same("STag", captured.stag, live.stag, "0x{:08x}");
    to.same("FPDUs with a wrong CRC", captured.wrong_crcs, live.wrong_crcs);
    compare_bodies(captured, live, places, to);
}

}  // namespace replay::peer
