/// Fuzz target `filter`: a display filter, compiled and run over a few frames.
#include "dissect/filter/filter.h"

#include <string_view>
#include <vector>

#include "dissect/field_collector.h"
#include "dissect/output/frame_fields.h"
#include "dissect/registry.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"

namespace {

class Collecting final : public dissect::Sink {
public:
    explicit Collecting(dissect::FieldCollector& collector) : collector_(collector) {}
    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        collector_.begin_frame(frame.bytes);
        dissect::output::describe_frame({.frame = frame, .dissection = dissection}, collector_);
        collector_.add(dissection, frame.bytes);
    }
    void on_unit(const dissect::Unit& unit) override {
        if (!unit.in_frame) collector_.add(unit.dissection, unit.bytes);
        dissect::output::describe_unit(unit, collector_);
    }

private:
    dissect::FieldCollector& collector_;
};

const std::vector<support::KeptFrame>& frames() {
    static const std::vector<support::KeptFrame> kept = [] {
        std::vector<support::KeptFrame> all;
        for (const char* name : {"made-roce-opcodes.pcap", "made-rdmap.pcap", "made-tunnels.pcap", "made-cm.pcap"})
            support::load_capture(support::pcaps() + "/" + name, 24, all);
        return all;
    }();
    return kept;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const dissect::FieldRegistry registry;
    dissect::FieldCollector collector(registry);
    const std::string_view expression(reinterpret_cast<const char*>(data), size);
    auto filter = dissect::filter::Filter::compile(expression, registry, collector);
    if (!filter.ok()) {
        if (filter.error().text().empty()) fuzz::violated("a filter that is refused has a reason");
        return 0;
    }
    dissect::Dissector dissector(fuzz::small_bounds());
    Collecting sink(collector);
    std::uint64_t number = 0;
    for (const support::KeptFrame& kept : frames()) {
        dissector.dissect(kept.frame(++number), sink);
        filter->matches(collector);
    }
    return 0;
}
