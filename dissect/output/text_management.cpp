#include <algorithm>

#include "base/text_format.h"
#include "dissect/layer_table.h"
#include "dissect/output/text_parts.h"
#include "dissect/output/value_format.h"
#include "wire/cm_req.h"

namespace dissect::output::text {

namespace {

enum class Form : std::uint8_t { hex, decimal, name, service, private_data };

/// A field of a CM message that is worth a place on the line, and its word there.
struct Shown {
    std::string_view field;  ///< without `infiniband.cm.`
    std::string_view word;
    Form form;
};

constexpr std::string_view prefix = "infiniband.cm.";

constexpr Shown shown[] = {
    {"req", "id", Form::hex},
    {"req.serviceid", "service", Form::hex},
    {"req.serviceid.dport", "port", Form::decimal},
    {"req.localqpn", "qpn", Form::hex},
    {"req.startpsn", "start-psn", Form::decimal},
    {"req.transpsvctype", "service-type", Form::service},
    {"req.responderres", "responder", Form::decimal},
    {"req.initdepth", "initiator", Form::decimal},
    {"req.pppmtu", "mtu", Form::name},
    {"req.retrcount", "retry", Form::decimal},
    {"req.rnrretrcount", "rnr-retry", Form::decimal},
    {"req.private", "private", Form::private_data},
    {"req.ip_cm.sport", "from-port", Form::decimal},
    {"req.ip_cm.private", "private", Form::private_data},
    {"rep", "id", Form::hex},
    {"rep.remotecommid", "remote-id", Form::hex},
    {"rep.localqpn", "qpn", Form::hex},
    {"rep.startpsn", "start-psn", Form::decimal},
    {"rep.respres", "responder", Form::decimal},
    {"rep.initdepth", "initiator", Form::decimal},
    {"rep.rnrretrcount", "rnr-retry", Form::decimal},
    {"rep.private", "private", Form::private_data},
    {"rej.localcommid", "id", Form::hex},
    {"rej.remotecommid", "remote-id", Form::hex},
    {"rej.msgrej", "rejects", Form::name},
    {"rej.reason", "reason", Form::name},
    {"rej.private", "private", Form::private_data},
    {"mra.localcommid", "id", Form::hex},
    {"mra.remotecommid", "remote-id", Form::hex},
    {"mra.msgmraed", "answers", Form::name},
    {"mra.servicetimeout", "timeout", Form::decimal},
    {"rtu.localcommid", "id", Form::hex},
    {"rtu.remotecommid", "remote-id", Form::hex},
    {"rtu.private", "private", Form::private_data},
    {"dreq.localcommid", "id", Form::hex},
    {"dreq.remotecommid", "remote-id", Form::hex},
    {"req.remoteqpneecn", "remote-qpn", Form::hex},
    {"drsp.localcommid", "id", Form::hex},
    {"drsp.remotecommid", "remote-id", Form::hex},
    {"sidr_req.requestid", "id", Form::hex},
    {"sidr_req.serviceid", "service", Form::hex},
    {"sidr_req.private", "private", Form::private_data},
    {"sidr_rep.requestid", "id", Form::hex},
    {"sidr_rep.status", "status", Form::name},
    {"sidr_rep.qpn", "qpn", Form::hex},
    {"sidr_rep.qkey", "qkey", Form::hex},
    {"lap.localcommid", "id", Form::hex},
    {"lap.remotecommid", "remote-id", Form::hex},
    {"lap.remoteqpneecn", "remote-qpn", Form::hex},
    {"apr.localcommid", "id", Form::hex},
    {"apr.remotecommid", "remote-id", Form::hex},
    {"apr.status", "status", Form::decimal},
};

/// Private data are of a fixed size and filled with zeros: what counts ends with the last byte that is not zero.
std::size_t used_octets(base::Bytes octets) {
    const auto last =
        std::find_if(octets.rbegin(), octets.rend(), [](std::byte octet) { return octet != std::byte{0}; });
    return static_cast<std::size_t>(octets.rend() - last);
}

class Picker final : public Visitor {
public:
    Picker(std::string& out, bool xrc) : out_(out), xrc_(xrc) {}

    void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) override {
        field(heading, value, extent);
    }
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent) override {
        if (info.kind == wire::Kind::none || !info.name.starts_with(prefix)) return;
        const std::string_view name = info.name.substr(prefix.size());
        // An IP service is better known by its port, which follows.
        constexpr unsigned port_and_protocol_bits = 24;
        if (name.ends_with(".serviceid") && value.number >> port_and_protocol_bits == 1) return;
        const auto* row =
            std::find_if(std::begin(shown), std::end(shown), [&](const Shown& s) { return s.field == name; });
        if (row != std::end(shown)) append(*row, info, value);
    }
    void close() override {}

private:
    void append(const Shown& row, const wire::FieldInfo& info, const wire::Value& value) {
        ((out_ += ' ') += row.word) += ' ';
        switch (row.form) {
            case Form::hex: base::append_hex(out_, value.number, hex_digits(info.kind)); break;
            case Form::decimal: base::append_decimal(out_, value.number); break;
            case Form::private_data: base::append_decimal(out_, used_octets(value.bytes)); break;
            case Form::service: out_ += xrc_ ? "XRC" : wire::name_of(info.values, value.number); break;
            case Form::name: {
                const std::string_view known = wire::name_of(info.values, value.number);
                if (known.empty())
                    append_value(out_, info, value, base::OctetStyle::plain);
                else
                    out_ += known;
            }
        }
    }
    std::string& out_;
    bool xrc_;
};

/// A REQ that names its service in another field: IBTA vol. 1, Annex A14.
bool asks_for_xrc(const Unit& unit) {
    constexpr std::uint8_t extended = 3;
    constexpr std::uint8_t xrc = 1;
    const LayerRef* layer = unit.dissection.find(LayerId::cm_req);
    if (layer == nullptr) return false;
    const auto request = wire::View<wire::CmReq>::at(unit.bytes.subspan(layer->offset, layer->length));
    return request && request->get<&wire::CmReq::transport_service>() == extended &&
           request->get<&wire::CmReq::extended_transport>() == xrc;
}

}  // namespace

void management_details(std::string& out, const Unit& unit) {
    LayerSet messages;
    for (const LayerId id :
         {LayerId::cm_req, LayerId::cm_mra, LayerId::cm_rej, LayerId::cm_rep, LayerId::cm_rtu, LayerId::cm_dreq,
          LayerId::cm_drep, LayerId::cm_sidr_req, LayerId::cm_sidr_rep, LayerId::cm_lap, LayerId::cm_apr})
        messages.insert(id);
    if (!unit.dissection.present.intersects(messages)) return;
    Picker picker{out, asks_for_xrc(unit)};
    describe(unit.dissection, unit.bytes, picker, messages);
}

}  // namespace dissect::output::text
