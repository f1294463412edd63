// Malformed input: every truncation of every kind of entry, and captures with octets changed at random.
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <set>

#include "dissect/dissector.h"
#include "dissect/output/text_line.h"
#include "dissect/output/tree.h"
#include "dissect/upper_message.h"
#include "tests/unit/upper/found_commands.h"
#include "upper/upper_protocol.h"

namespace upper_test {
namespace {

constexpr const char* hostile_capture = "nvme-rdma-rxe.pcap.gz";

/// Prints all that is found, as text with everything and as a tree.
std::size_t print(const Frames& frames) {
    std::string out;
    std::size_t printed = 0;
    dissect::output::TextOptions options;
    options.verbosity = 3;
    dissect::output::TextPrinter text(out, options);
    upper::Reader reader({}, &text, nullptr);
    dissect::DissectorOptions dissecting;
    dissecting.parse.verify_crc = false;
    dissect::Dissector dissector(dissecting);
    for (const NumberedFrame& one : frames) {
        const wire::Frame frame = one.kept.frame(one.number);
        dissector.dissect(frame, reader);
        text.end_frame(true);
        printed += out.size();
        out.clear();
    }
    reader.finish();
    return printed;
}

Frames first_frames(std::size_t count, const char* capture = hostile_capture) {
    Frames frames = load(capture);
    if (frames.size() > count) frames.resize(count);
    return frames;
}

TEST(HostileInput, every_truncation_of_every_entry) {
    std::set<std::vector<std::byte>> entries;
    for (const NumberedFrame& one : first_frames(200)) {
        const auto& octets = one.kept.octets;
        const auto opcode = std::to_integer<unsigned>(octets[42]);
        if (opcode == 4 && octets.size() >= 54 + 64) entries.insert({octets.begin() + 54, octets.begin() + 54 + 64});
        if (opcode == 23 && octets.size() >= 58 + 16) entries.insert({octets.begin() + 58, octets.begin() + 58 + 16});
    }
    ASSERT_GT(entries.size(), 20u);
    for (const auto& entry : entries) {
        for (std::size_t size = 0; size <= entry.size(); ++size) {
            // Octets of their own: a sanitizer sees every read after them.
            const std::vector<std::byte> head(entry.begin(), entry.begin() + static_cast<std::ptrdiff_t>(size));
            for (const upper::Protocol* protocol : upper::all_protocols()) {
                for (const std::uint64_t length : {entry.size(), size, std::size_t{5000}}) {
                    for (const bool from_initiator : {false, true}) {
                        upper::ConnectionFacts facts;
                        upper::Said said;
                        protocol->shape(head, length);
                        protocol->parse(head, length, from_initiator, facts, said);
                        if (protocol->read_data != nullptr) protocol->read_data(said.detail, head, facts);
                        EXPECT_TRUE(protocol->read_data != nullptr || !said.wants_data) << protocol->name;
                        EXPECT_LE(said.grant_count, upper::Said::max_grants);
                    }
                }
                upper::ConnectionFacts facts;
                protocol->read_private_data(head, facts);
                dissect::Dissection dissection;
                for (const auto layer : {protocol->request_layer, protocol->response_layer, protocol->data_layer}) {
                    std::string tree;
                    dissect::output::TreeVisitor visitor{tree};
                    dissect::dissect_unit(layer, head, static_cast<std::uint32_t>(entry.size()), {}, dissection);
                    for (unsigned variant = 0; variant < 256; variant += 5) {
                        if (dissection.layer_count != 0)
                            dissection.layers[0].variant = static_cast<std::uint8_t>(variant);
                        dissect::describe(dissection, head, visitor);
                    }
                }
            }
        }
    }
}

TEST(HostileInput, every_snap_length) {
    const Frames frames = first_frames(120);
    constexpr std::size_t headers = 14 + 20 + 8 + 12;
    for (std::size_t bytes = 14; bytes < 200; ++bytes) {
        const std::size_t printed = print(snapped(frames, bytes));
        if (bytes >= headers) {
            EXPECT_GT(printed, 0u);
        }
    }
}

/// Changes a few octets of a quarter of the frames, and cuts some.
Frames damaged(Frames frames, std::size_t from, std::mt19937& random) {
    for (NumberedFrame& one : frames) {
        // The headers of Ethernet and IP stay: what is after them is of interest.
        if (random() % 4 != 0 || one.kept.octets.size() <= from) continue;
        for (unsigned i = 0; i < 1 + random() % 4; ++i) {
            const std::size_t at = from + random() % (std::min<std::size_t>(one.kept.octets.size(), 250) - from);
            one.kept.octets[at] = static_cast<std::byte>(random());
        }
        if (random() % 8 == 0) one.kept.octets.resize(from + random() % (one.kept.octets.size() - from));
    }
    return frames;
}

TEST(HostileInput, octets_changed_at_random) {
    std::mt19937 random(20261125);
    for (const char* capture : {hostile_capture, "nfs-rdma-rxe.pcap", "iser-rxe.pcap.gz", "srp-rxe.pcap.gz"}) {
        const Frames roce = first_frames(400, capture);
        const Frames iwarp = as_iwarp(roce);
        for (unsigned run = 0; run < 30; ++run) {
            const bool is_roce = run % 2 == 0;
            const Frames frames = damaged(is_roce ? roce : iwarp, is_roce ? 42 : 54, random);
            EXPECT_GT(print(frames), 0u);
            const Finder finder = read(frames);
            EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
            for (const Found& found : finder.answered)
                EXPECT_LT(std::accumulate(found.parts_ns.begin(), found.parts_ns.end(), std::uint64_t{0}),
                          60'000'000'000u);
        }
    }
}

}  // namespace
}  // namespace upper_test
