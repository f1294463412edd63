/// Nothing on the way from file to unit allocates after warm-up.
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "dissect/field_collector.h"
#include "dissect/filter/filter.h"
#include "dissect/registry.h"
#include "tests/support/allocations.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"

namespace {

class CountingSink final : public dissect::Sink {
public:
    void on_unit(const dissect::Unit&) override { ++units; }
    std::uint64_t units = 0;
};

std::string path_of(const std::string& name) { return support::pcaps() + "/" + name; }

std::string test_name(const testing::TestParamInfo<const char*>& capture) {
    std::string name = capture.param;
    name = name.substr(0, name.find('.'));
    for (char& c : name)
        if (c == '-') c = '_';
    return name;
}

class Allocation : public testing::TestWithParam<const char*> {};

/// The first half of a capture is the warm-up, the second is counted.
TEST_P(Allocation, none_in_the_second_half_of_a_capture) {
    std::vector<support::KeptFrame> frames;
    support::load_capture(path_of(GetParam()), SIZE_MAX, frames);
    dissect::Dissector dissector;
    CountingSink sink;
    const std::size_t half = frames.size() / 2;
    for (std::size_t i = 0; i < half; ++i) dissector.dissect(frames[i].frame(i + 1), sink);
    const std::uint64_t units = sink.units;
    const std::uint64_t before = support::allocations();
    for (std::size_t i = half; i < frames.size(); ++i) dissector.dissect(frames[i].frame(i + 1), sink);
    EXPECT_EQ(support::allocations() - before, 0u);
    EXPECT_GT(sink.units, units) << "the second half holds RDMA";
}

/// Loss and reordering need buffers; those of the first runs serve the later ones. Every run is a connection of its
/// own, told apart by its ports.
TEST_P(Allocation, none_in_the_fourth_of_equal_runs) {
    std::vector<support::KeptFrame> frames;
    support::load_capture(path_of(GetParam()), SIZE_MAX, frames);
    dissect::DissectorOptions options;
    options.max_streams = 2;
    dissect::Dissector dissector(options);
    CountingSink sink;
    std::uint64_t number = 0;
    std::uint64_t allocated = 0;
    for (unsigned run = 0; run < 4; ++run) {
        const std::uint64_t before = support::allocations();
        for (support::KeptFrame& frame : frames) {
            for (const std::size_t port : {34u, 36u})  // Ethernet and IPv4 without options
                base::store_be16(&frame.octets[port],
                                 static_cast<std::uint16_t>(base::load_be16(&frame.octets[port]) +
                                                            (frame.octets[23] == std::byte{6} ? 1 : 0)));
            dissector.dissect(frame.frame(++number), sink);
        }
        allocated = support::allocations() - before;
    }
    EXPECT_EQ(allocated, 0u);
}

INSTANTIATE_TEST_SUITE_P(captures, Allocation,
                         testing::Values("rxe-write-bw-64k.pcap", "rxe-rping.pcap", "rxe-loss1pct-send-bw.pcap.gz",
                                         "siw-write-bw-64-crc.pcap", "siw-send-bw-64k-crc.pcap",
                                         "siw-loss1pct-send-bw.pcap", "siw-reorder-write-bw.pcap.gz",
                                         "siw-gso-tcpdump-A.pcap"),
                         test_name);

TEST(AllocationOfReader, none_after_the_first_frames) {
    auto source = capture::open_file(path_of("rxe-write-bw-64.pcap"), {.access = capture::Access::mapped});
    ASSERT_TRUE(source.ok());
    wire::Frame frame;
    for (int i = 0; i < 10; ++i) ASSERT_EQ((*source)->next(frame), capture::ReadStatus::frame);
    const std::uint64_t before = support::allocations();
    std::uint64_t frames = 10;
    while ((*source)->next(frame) == capture::ReadStatus::frame) ++frames;
    EXPECT_EQ(support::allocations() - before, 0u);
    EXPECT_EQ(frames, 2075u);
}

TEST(AllocationOfFilter, none_after_warm_up) {
    std::vector<support::KeptFrame> frames;
    support::load_capture(path_of("rxe-rping.pcap"), 200, frames);
    const dissect::FieldRegistry registry;
    dissect::FieldCollector collector(registry);
    auto filter = dissect::filter::Filter::compile("infiniband.bth.opcode in {4, 10..12} || eth.src[0:3] == 52:54:00",
                                                   registry, collector);
    ASSERT_TRUE(filter.ok()) << filter.error().text();
    dissect::Dissection dissection;
    std::uint64_t before = 0;
    for (int run = 0; run < 2; ++run) {
        before = support::allocations();
        for (const support::KeptFrame& frame : frames) {
            dissect::dissect_frame(frame.frame(1), {}, dissection);
            collector.begin_frame(frame.octets);
            collector.add(dissection, frame.octets);
            filter->matches(collector);
        }
    }
    EXPECT_EQ(support::allocations() - before, 0u);
}

}  // namespace
