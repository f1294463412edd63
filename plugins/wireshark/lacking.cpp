// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/lacking.h"

namespace plugins::wireshark {

using dissect::Extent;
using dissect::LayerId;
using dissect::LayerSet;
using wire::FieldInfo;
using wire::Value;

namespace {

LayerSet set_of(std::initializer_list<LayerId> ids) {
    LayerSet set;
    for (const LayerId id : ids) set.insert(id);
    return set;
}

/// After the BTH, which Wireshark reads as we do.
LayerSet behind_bth() {
    return set_of({LayerId::rdeth, LayerId::deth, LayerId::xrceth, LayerId::reth, LayerId::atomiceth, LayerId::aeth,
                   LayerId::atomicacketh, LayerId::immdt, LayerId::ieth, LayerId::cnp, LayerId::payload,
                   LayerId::icrc});
}

LayerSet all_of_iwarp() {
    return set_of({LayerId::mpa_request, LayerId::mpa_reply, LayerId::mpa_fpdu, LayerId::ddp_tagged,
                   LayerId::ddp_untagged, LayerId::rdmap, LayerId::rdmap_read_request, LayerId::rdmap_atomic_request,
                   LayerId::rdmap_atomic_response, LayerId::rdmap_immediate, LayerId::rdmap_terminate,
                   LayerId::ulp_payload});
}

/// Passes a heading whose name begins with `prefix`, and everything below it.
class Only final : public dissect::Visitor {
public:
    Only(std::string_view prefix, dissect::Visitor& visitor) : prefix_(prefix), visitor_(visitor) {}

    void open(const FieldInfo& heading, const Value& value, Extent extent) override {
        if (level_ > 0 || heading.name.starts_with(prefix_)) {
            ++level_;
            visitor_.open(heading, value, extent);
        } else {
            ++outside_;
        }
    }
    void field(const FieldInfo& info, const Value& value, Extent extent) override {
        if (level_ > 0) visitor_.field(info, value, extent);
    }
    void close() override {
        if (level_ > 0) {
            --level_;
            visitor_.close();
        } else if (outside_ > 0) {
            --outside_;
        }
    }

private:
    std::string_view prefix_;
    dissect::Visitor& visitor_;
    unsigned level_ = 0;
    unsigned outside_ = 0;
};

void describe_part(const dissect::Unit& unit, LayerId layer, std::string_view prefix, dissect::Visitor& visitor) {
    Only only(prefix, visitor);
    dissect::describe(unit.dissection, unit.bytes, only, set_of({layer}));
}

bool is_reliable_datagram(const dissect::Dissection& d) { return d.bth.opcode >> 5 == 2; }

bool describe_packet(const dissect::Unit& unit, const LackingOptions& options, dissect::Visitor& visitor) {
    const bool wanted = lacks_packet(unit.dissection, options);
    if (wanted) dissect::describe(unit.dissection, unit.bytes, visitor, behind_bth());
    return wanted;
}

}  // namespace

bool lacks_packet(const dissect::Dissection& d, const LackingOptions& options) {
    return (options.cnp && d.has(LayerId::cnp)) || (options.xrc && d.has(LayerId::xrceth)) ||
           (options.rd && is_reliable_datagram(d));
}

bool lacks_upper_layer(std::string_view protocol, wire::Transport transport, const LackingOptions& options) {
    if (!options.upper_layers) return false;
    if (protocol == "srp" || protocol == "rds" || protocol == "rsocket") return true;
    return transport == wire::Transport::iwarp && (protocol == "nvme" || protocol == "iser");
}

bool describe_lacking(const dissect::Unit& unit, const FoundLayers& found, const LackingOptions& options,
                      dissect::Visitor& visitor) {
    const dissect::Dissection& d = unit.dissection;
    if (d.has(LayerId::bth)) return describe_packet(unit, options, visitor);
    if (unit.transport != wire::Transport::iwarp) return false;
    if (!found.mpa) {
        if (options.streams_midway) dissect::describe(d, unit.bytes, visitor, all_of_iwarp());
        return options.streams_midway;
    }
    const bool immediate = options.immediate && d.has(LayerId::rdmap_immediate);
    if (immediate) dissect::describe(d, unit.bytes, visitor, set_of({LayerId::rdmap_immediate}));
    const bool terminate = options.terminate && d.has(LayerId::rdmap_terminate);
    if (terminate) describe_part(unit, LayerId::rdmap_terminate, "rdma.terminate.", visitor);
    const LayerId start = d.has(LayerId::mpa_request) ? LayerId::mpa_request : LayerId::mpa_reply;
    const bool parameters = options.mpa_parameters && d.has(start);
    if (parameters) describe_part(unit, start, "iwarp_mpa.enhanced", visitor);
    return immediate || terminate || parameters;
}

}  // namespace plugins::wireshark
