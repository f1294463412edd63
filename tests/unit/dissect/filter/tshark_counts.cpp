#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "dissect/dissector.h"
#include "dissect/output/frame_fields.h"
#include "field_feed.h"
#include "tests/support/pcaps.h"

/// tshark_counts.tsv: a capture, how many frames tshark 4.0.17 selects in it, and the display filter. tshark ran as the
/// oracle tests run it: without name resolution and without its guesses at what RDMA carries; `infiniband.payload` of
/// these captures is its `data.data`.
namespace {

using dissect::Dissection;

/// A pcap file of this machine's byte order, read whole.
class Capture {
public:
    explicit Capture(const std::string& name) {
        std::ifstream file(support::pcaps() + "/" + name + ".pcap", std::ios::binary);
        const std::vector<char> read{std::istreambuf_iterator<char>{file}, {}};
        octets_.resize(read.size());
        if (!read.empty()) std::memcpy(octets_.data(), read.data(), read.size());
        const bool nanoseconds = octets_.size() > 24 && load(0) == 0xa1b23c4d;
        for (std::size_t at = 24; at + 16 <= octets_.size();) {
            wire::Frame frame;
            frame.time_ns =
                std::int64_t{load(at)} * 1'000'000'000 + std::int64_t{load(at + 4)} * (nanoseconds ? 1 : 1000);
            frame.wire_length = load(at + 12);
            frame.link_type = static_cast<wire::LinkType>(load(20) & 0xffff);
            frame.number = frames_.size() + 1;
            frame.bytes = base::Bytes{octets_}.subspan(at + 16, load(at + 8));
            frames_.push_back(frame);
            at += 16 + frame.bytes.size();
        }
    }
    const std::vector<wire::Frame>& frames() const { return frames_; }

private:
    std::uint32_t load(std::size_t at) const {
        std::uint32_t value = 0;
        std::memcpy(&value, octets_.data() + at, sizeof value);
        return value;
    }
    std::vector<std::byte> octets_;
    std::vector<wire::Frame> frames_;
};

/// Gathers what a filter wants of each frame.
class Gatherer : public dissect::Sink {
public:
    explicit Gatherer(dissect::FieldCollector& collector) : collector_(collector) {}

    void on_frame(const wire::Frame& frame, const Dissection& dissection) override {
        collector_.begin_frame(frame.bytes);
        protocols_.clear();
        dissect::output::append_protocols(protocols_, dissection);
        if (collector_.wants_frame_fields())
            dissect::output::describe_frame({frame, dissection, clock_.next(frame), {}, protocols_}, collector_);
        collector_.add(dissection, frame.bytes);
    }
    void on_unit(const dissect::Unit& unit) override {
        if (!unit.in_frame) collector_.add(unit.dissection, unit.bytes);
    }

private:
    dissect::FieldCollector& collector_;
    dissect::output::FrameClock clock_;
    std::string protocols_;
};

struct Line {
    std::string capture;
    std::size_t count = 0;
    std::string expression;
};

std::vector<Line> lines() {
    std::ifstream file(support::pcaps() + "/../tests/unit/dissect/filter/tshark_counts.tsv");
    std::vector<Line> all;
    Line line;
    std::string count;
    while (std::getline(file, line.capture, '\t') && std::getline(file, count, '\t') &&
           std::getline(file, line.expression)) {
        line.count = std::stoul(count);
        all.push_back(line);
    }
    return all;
}

TEST(Counts, AreTsharks) {
    std::map<std::string, Capture> captures;
    const auto all = lines();
    ASSERT_GT(all.size(), 150u);
    for (const auto& [name, count, expression] : all) {
        const Capture& capture = captures.try_emplace(name, name).first->second;
        ASSERT_FALSE(capture.frames().empty()) << name;
        dissect::FieldCollector collector{filter_test::registry()};
        auto filter = dissect::filter::Filter::compile(expression, filter_test::registry(), collector);
        if (!filter) {
            ADD_FAILURE() << name << ": " << filter.error().text();
            continue;
        }
        dissect::Dissector dissector;
        Gatherer gatherer{collector};
        std::size_t passed = 0;
        for (const auto& frame : capture.frames()) {
            dissector.dissect(frame, gatherer);
            passed += filter->matches(collector) ? 1 : 0;
        }
        EXPECT_EQ(passed, count) << name << ": " << expression;
    }
}

}  // namespace
