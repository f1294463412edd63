/// Fuzz target `frame`: one frame of any link type. The first octet chooses the link type, the second how many octets
/// the frame had on the wire beyond those captured; the rest is the frame.
#include "tests/fuzz/examine.h"
#include "tests/fuzz/link_types.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    wire::Frame frame;
    frame.link_type = fuzz::link_types[data[0] % fuzz::link_types.size()];
    frame.bytes = std::as_bytes(std::span(data + 2, size - 2));
    frame.wire_length = static_cast<std::uint32_t>(size - 2 + (data[1] < 128 ? 0u : data[1] * 16u));
    frame.number = 1;

    dissect::Dissection dissection;
    dissect::dissect_frame(frame, {}, dissection);
    fuzz::check(dissection, frame.bytes.size());

    dissect::Dissector dissector(fuzz::small_bounds());
    fuzz::CheckingSink sink(true);
    dissector.dissect(frame, sink);
    ++frame.number;
    dissector.dissect(frame, sink);
    dissector.finish(sink);
    return 0;
}
