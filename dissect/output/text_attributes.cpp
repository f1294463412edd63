#include <algorithm>
#include <string>

#include "base/quantities.h"
#include "base/text_format.h"
#include "dissect/joined_records.h"
#include "dissect/layer_table.h"
#include "dissect/output/text_parts.h"
#include "dissect/output/value_format.h"
#include "dissect/rmpp_transfers.h"
#include "wire/mad.h"
#include "wire/mad_class.h"

namespace dissect::output::text {

namespace {

enum class AttributeForm : std::uint8_t {
    value,  ///< as `-e` prints it
    decimal,
    name,     ///< the value's word, else as `value`
    text,     ///< between quotation marks
    counter,  ///< only if it is not zero
};

/// A field of an attribute that is worth a place on the line, and its word there.
struct AttributeField {
    std::string_view field;
    std::string_view word;
    AttributeForm form;
};

constexpr AttributeField attribute_fields[] = {
    {"infiniband.nodedescription.nodestring", "", AttributeForm::text},
    {"infiniband.nodeinfo.nodetype", "", AttributeForm::name},
    {"infiniband.nodeinfo.numports", "ports", AttributeForm::decimal},
    {"infiniband.nodeinfo.nodeguid", "guid", AttributeForm::value},
    {"infiniband.nodeinfo.localportnum", "port", AttributeForm::decimal},
    {"infiniband.sa.endportlid", "lid", AttributeForm::decimal},
    {"infiniband.portinfo.lid", "lid", AttributeForm::decimal},
    {"infiniband.portinfo.mastersmlid", "sm", AttributeForm::decimal},
    {"infiniband.portinfo.portstate", "", AttributeForm::name},
    {"infiniband.portinfo.portphysicalstate", "", AttributeForm::name},
    {"infiniband.portinfo.linkwidthactive", "", AttributeForm::name},
    {"infiniband.portinfo.neighbormtu", "mtu", AttributeForm::name},
    {"infiniband.sminfo.guid", "guid", AttributeForm::value},
    {"infiniband.sminfo.priority", "priority", AttributeForm::decimal},
    {"infiniband.sminfo.smstate", "", AttributeForm::name},
    {"infiniband.notice.trapnumberdeviceid", "", AttributeForm::name},
    {"infiniband.trap.lidaddr", "lid", AttributeForm::decimal},
    {"infiniband.trap.lidaddr1", "lid", AttributeForm::decimal},
    {"infiniband.trap.lidaddr2", "lid", AttributeForm::decimal},
    {"infiniband.trap.portno", "port", AttributeForm::decimal},
    {"infiniband.trap.gidaddr", "gid", AttributeForm::value},
    {"infiniband.trap.key", "key", AttributeForm::value},
    {"infiniband.pathrecord.sgid", "from", AttributeForm::value},
    {"infiniband.pathrecord.dgid", "to", AttributeForm::value},
    {"infiniband.pathrecord.slid", "from-lid", AttributeForm::decimal},
    {"infiniband.pathrecord.dlid", "to-lid", AttributeForm::decimal},
    {"infiniband.pathrecord.sl", "sl", AttributeForm::decimal},
    {"infiniband.mcmemberrecord.mgid", "group", AttributeForm::value},
    {"infiniband.mcmemberrecord.portgid", "port", AttributeForm::value},
    {"infiniband.mcmemberrecord.mlid", "mlid", AttributeForm::value},
    {"infiniband.linkrecord.fromlid", "from-lid", AttributeForm::decimal},
    {"infiniband.linkrecord.fromport", "port", AttributeForm::decimal},
    {"infiniband.linkrecord.tolid", "to-lid", AttributeForm::decimal},
    {"infiniband.linkrecord.toport", "port", AttributeForm::decimal},
    {"infiniband.linkrecord.serviceid", "service", AttributeForm::value},
    {"infiniband.portcounters.portselect", "port", AttributeForm::decimal},
    {"infiniband.portcounters.symbolerrorcounter", "symbol-errors", AttributeForm::counter},
    {"infiniband.portcounters.linkerrorrecoverycounter", "link-recoveries", AttributeForm::counter},
    {"infiniband.portcounters.linkdownedcounter", "link-downed", AttributeForm::counter},
    {"infiniband.portcounters.portrcverrors", "receive-errors", AttributeForm::counter},
    {"infiniband.portcounters.portxmitdiscards", "discards", AttributeForm::counter},
    {"rdma.portcounters.xmitwait", "wait", AttributeForm::counter},
    {"infiniband.portcounters_ext.portselect", "port", AttributeForm::decimal},
    {"rdma.mad.portselect", "port", AttributeForm::decimal},
    {"rdma.mad.io.idstring", "", AttributeForm::text},
    {"rdma.mad.io.servicename", "", AttributeForm::text},
};

class AttributePicker final : public Visitor {
public:
    /// `all`: also what is zero, which in a request means that nothing is said.
    AttributePicker(std::string& out, bool all) : out_(out), all_(all) {}

    void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) override {
        field(heading, value, extent);
    }
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent) override {
        if (info.name == "rdma.mad.record") {
            ++records_;
            number_ = value.number;
        }
        if (records_ > 1) return;  // of a table, the line shows the first record and how many there are
        const auto row = std::ranges::find(attribute_fields, info.name, &AttributeField::field);
        if (row != std::end(attribute_fields)) append(*row, info, value);
    }
    void close() override {}

    std::uint32_t records() const { return records_; }
    /// Of the last record.
    std::uint64_t number() const { return number_; }

private:
    void append(const AttributeField& row, const wire::FieldInfo& info, const wire::Value& value) {
        if ((!all_ || row.form == AttributeForm::counter || row.form == AttributeForm::text) && is_zero(value)) return;
        if (!row.word.empty()) (out_ += ' ') += row.word;
        out_ += ' ';
        const std::string_view name = wire::name_of(info.values, value.number);
        switch (row.form) {
            case AttributeForm::decimal: base::append_decimal(out_, value.number); break;
            case AttributeForm::counter: out_ += base::format_count(value.number); break;
            case AttributeForm::text:
                out_ += '"';
                base::append_printable(out_, value.text);
                out_ += '"';
                break;
            case AttributeForm::name:
                if (!name.empty()) {
                    out_ += name;
                    break;
                }
                [[fallthrough]];
            case AttributeForm::value: append_value(out_, info, value, base::OctetStyle::plain);
        }
    }

    static bool is_zero(const wire::Value& value) {
        return value.number == 0 && value.text.empty() &&
               std::ranges::all_of(value.bytes, [](std::byte octet) { return octet == std::byte{0}; });
    }

    std::string& out_;
    bool all_;
    std::uint32_t records_ = 0;
    std::uint64_t number_ = 0;
};

base::Bytes mad_of(const Unit& unit) {
    const LayerRef& layer = *unit.dissection.find(LayerId::mad);
    return unit.bytes.subspan(layer.offset, layer.length);
}

/// `, segment 2 of 3`, and of the last one what the whole transfer has.
void append_segment(std::string& out, const Unit& unit) {
    const RmppSegment& segment = *unit.rmpp;
    if (segment.is_last && segment.number == 1) return;
    out += ", segment ";
    base::append_decimal(out, segment.number);
    if (segment.count) word(out, "of", *segment.count);
    if (segment.is_repeated) out += ", seen before";
    if (!segment.is_last) return;
    const std::uint32_t length = unit.dissection.has(LayerId::sa) ? wire::mad::record_octets(mad_of(unit)) : 0;
    out += ", in all ";
    out += length == 0 ? base::format_counted(segment.octets, "byte")
                       : base::format_counted(segment.octets / length, "record");
    if (segment.missing != 0) {
        out += ", ";
        out += base::format_counted(segment.missing, "segment");
        out += " not captured";
    }
}

/// ` ACK segment 3, window to 67`; ` ABORT too many retries`.
void append_rmpp(std::string& out, base::Bytes mad) {
    using wire::mad::RmppType;
    const RmppType type = wire::mad::rmpp_type(mad);
    if (type == RmppType::ack) {
        out += " ACK";
        word(out, "segment", base::load_be32(mad.data() + wire::mad::rmpp_segment_octet));
        out += ',';
        word(out, "window to", base::load_be32(mad.data() + wire::mad::rmpp_length_octet));
    } else if (type == RmppType::stop || type == RmppType::abort) {
        const unsigned status = base::load_u8(mad.data() + wire::mad::rmpp_status_octet);
        const std::string_view name = wire::name_of(wire::mad::rmpp_statuses, status);
        out += type == RmppType::stop ? " STOP " : " ABORT ";
        out += name.empty() ? std::string_view("status ") : name;
        if (name.empty()) base::append_decimal(out, status);
    }
}

bool has_segments(base::Bytes mad) {
    return mad.size() == wire::mad_octets && wire::mad::rmpp_data_octet(base::load_u8(mad.data() + 1)) != 0;
}

}  // namespace

void transfer_details(std::string& out, const Unit& unit) {
    if (unit.rmpp != nullptr) return append_segment(out, unit);
    if (const base::Bytes mad = mad_of(unit); has_segments(mad)) append_rmpp(out, mad);
}

void joined_record_lines(std::string& out, const Unit& unit) {
    visit_joined_records(unit, [&out](const Dissection& dissection, base::Bytes bytes) {
        std::string words;
        AttributePicker picker{words, true};
        describe(dissection, bytes, picker);
        out += "record ";
        base::append_decimal(out, picker.number());
        out += ", in several segments:";
        (out += words) += '\n';
    });
}

void attribute_details(std::string& out, const Unit& unit) {
    LayerSet classes;
    for (const LayerId id : {LayerId::smp, LayerId::smp_directed, LayerId::sa, LayerId::performance,
                             LayerId::device_management, LayerId::congestion_control})
        classes.insert(id);
    if (!unit.dissection.present.intersects(classes)) return;
    const LayerRef& layer = *unit.dissection.find(LayerId::mad);
    const auto header = wire::View<wire::Mad>::unchecked(unit.bytes.data() + layer.offset);
    const std::string_view result =
        wire::mad_status_text(header.get<&wire::Mad::management_class>(), header.get<&wire::Mad::status>());
    if (!result.empty()) ((out += " (") += result) += ')';
    const bool asks = wire::mad_method_asks(header.get<&wire::Mad::method>());
    AttributePicker picker{out, result.empty() && !asks};
    describe(unit.dissection, unit.bytes, picker, classes);
    if (picker.records() > 1) (out += ", ") += base::format_counted(picker.records(), "record");
}

}  // namespace dissect::output::text
