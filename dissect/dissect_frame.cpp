#include "dissect/dissector.h"
#include "dissect/layer_table.h"

namespace dissect {

LayerId first_layer(wire::LinkType link_type) {
    switch (link_type) {
        case wire::LinkType::ethernet: return LayerId::ethernet;
        case wire::LinkType::null:
        case wire::LinkType::loop: return LayerId::null_loopback;
        case wire::LinkType::raw:
        case wire::LinkType::ipv4:
        case wire::LinkType::ipv6: return LayerId::raw_ip;
        case wire::LinkType::linux_sll: return LayerId::linux_sll;
        case wire::LinkType::linux_sll2: return LayerId::linux_sll2;
        case wire::LinkType::ppi: return LayerId::ppi;
        case wire::LinkType::erf: return LayerId::erf;
        case wire::LinkType::nflog: return LayerId::nflog;
        case wire::LinkType::ipoib: return LayerId::ipoib;
        case wire::LinkType::infiniband: return LayerId::lrh;
    }
    return LayerId::none;
}

namespace {
void run(LayerId next, Context& context) {
    while (next != LayerId::none && context.out.stop.outcome == Outcome::complete) next = row_of(next).parse(context);
}
}  // namespace

void dissect_frame(const wire::Frame& frame, const ParseOptions& options, Dissection& out) {
    out.reset();
    Context context{frame.bytes, frame.wire_length, options, out};
    const LayerId first = first_layer(frame.link_type);
    if (first == LayerId::none) [[unlikely]] {
        context.leave_unread(wire::CarrierKind::link_type, static_cast<std::uint16_t>(frame.link_type));
        context.stop(Outcome::unsupported, Reason::unknown_link_type, LayerId::none, 0, 0);
    }
    run(first, context);
}

void dissect_unit(LayerId first, base::Bytes bytes, std::uint32_t wire_length, const ParseOptions& options,
                  Dissection& out) {
    out.reset();
    Context context{bytes, wire_length, options, out};
    run(first, context);
}

}  // namespace dissect
