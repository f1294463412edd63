#include "tests/fuzz/examine.h"

#include <cstdio>
#include <cstdlib>

#include "base/text_format.h"
#include "dissect/output/frame_fields.h"
#include "dissect/output/unit_names.h"
#include "dissect/output/value_format.h"

namespace fuzz {

void violated(const char* what) {
    std::fprintf(stderr, "violated: %s\n", what);
    std::abort();
}

namespace {

void require(bool holds, const char* what) {
    if (!holds) [[unlikely]]
        violated(what);
}

}  // namespace

void Examiner::begin(std::size_t octets) {
    octets_ = octets;
    depth_ = 0;
}

void Examiner::end() const { require(depth_ == 0, "every heading that is opened is closed"); }

void Examiner::open(const wire::FieldInfo& heading, const wire::Value& value, dissect::Extent extent) {
    ++depth_;
    require(depth_ < 64, "headings are nested within reason");
    look(heading, value, extent);
}

void Examiner::field(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent) {
    look(info, value, extent);
}

void Examiner::close() {
    require(depth_ != 0, "no heading is closed that was not opened");
    --depth_;
}

void Examiner::look(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent) {
    require(extent.offset <= octets_ && extent.length <= octets_ - extent.offset,
            "a field lies within the described octets");
    text_.clear();
    dissect::output::append_value(text_, info, value, base::OctetStyle::plain);
    dissect::output::append_tree_line(text_, info, value);
}

void check(const dissect::Dissection& dissection, std::size_t octets) {
    require(dissection.layer_count <= dissect::Dissection::max_layers, "the layers fit");
    for (unsigned i = 0; i < dissection.layer_count; ++i) {
        const auto& layer = dissection.layers[i];
        require(layer.offset <= octets && layer.length <= octets - layer.offset, "a layer lies within the octets");
        require(layer.length <= layer.wire_length, "no more of a layer is captured than it has");
        if (i < dissection.own_layer_count())
            require(dissection.has(layer.id), "a layer is in the set of those present");
        else
            require(dissection.quotes(layer.id), "a quoted packet's layer is in the set of those quoted");
    }
    const auto& network = dissection.network;
    if (network.family != wire::AddressFamily::none) {
        require(network.source_offset + network.address_length() <= octets,
                "the source address lies within the octets");
        require(network.destination_offset + network.address_length() <= octets,
                "the destination address lies within the octets");
    }
    if (dissection.has(dissect::LayerId::tcp))
        require(dissection.tcp.payload_offset + dissection.tcp.payload_captured <= octets,
                "TCP's payload lies within the octets");
}

void CheckingSink::on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) {
    check(dissection, frame.bytes.size());
    if (!describe_) return;
    examiner_.begin(frame.bytes.size());
    dissect::describe(dissection, frame.bytes, examiner_);
    dissect::output::describe_frame({.frame = frame, .dissection = dissection}, examiner_);
    dissect::output::describe_outcome(dissection, examiner_);
    examiner_.end();
}

void CheckingSink::on_unit(const dissect::Unit& unit) {
    ++units_;
    check(unit.dissection, unit.bytes.size());
    require(unit.first_frame <= unit.frame.number, "a unit does not begin after it ends");
    if (!describe_) return;
    examiner_.begin(unit.bytes.size());
    if (!unit.in_frame) dissect::describe(unit.dissection, unit.bytes, examiner_);
    dissect::output::describe_unit(unit, examiner_);
    examiner_.end();
    dissect::output::service_of(unit);
    dissect::output::operation_of(unit);
    dissect::output::position_of(unit);
    dissect::output::length_of(unit);
}

void CheckingSink::on_notice(const dissect::Notice& notice) {
    if (!describe_) return;
    examiner_.begin(notice.frame.bytes.size());
    dissect::output::describe_notice(notice, examiner_);
    examiner_.end();
}

dissect::DissectorOptions small_bounds() {
    dissect::DissectorOptions options;
    options.max_streams = 8;
    options.max_stream_bytes = 1 << 14;
    options.max_total_bytes = 1 << 18;
    options.max_datagrams = 4;
    options.repeat_packets = 64;
    return options;
}

}  // namespace fuzz
