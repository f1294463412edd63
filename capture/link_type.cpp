#include "capture/link_type.h"

#include <array>
#include <pcap/pcap.h>

namespace capture {
namespace {

struct Pair {
    int dlt;
    int link_type;
};

/// Where the two registries part, on Linux.
constexpr std::array different{
    Pair{DLT_ATM_RFC1483, 100}, Pair{DLT_RAW, 101},      Pair{DLT_SLIP_BSDOS, 102},
    Pair{DLT_PPP_BSDOS, 103},   Pair{DLT_ATM_CLIP, 106}, Pair{DLT_C_HDLC, 104},
};

}  // namespace

int dlt_of(wire::LinkType type) {
    for (const Pair& pair : different)
        if (pair.link_type == static_cast<int>(type)) return pair.dlt;
    return static_cast<int>(type);
}

wire::LinkType link_type_of(int dlt) {
    for (const Pair& pair : different)
        if (pair.dlt == dlt) return static_cast<wire::LinkType>(pair.link_type);
    return static_cast<wire::LinkType>(dlt);
}

wire::LinkType link_type_in_file(std::uint16_t number) {
    // DLT_RAW is 14 on OpenBSD and 12 elsewhere; as LINKTYPE_ neither is anything else.
    return number == 12 || number == 14 ? wire::LinkType::raw : static_cast<wire::LinkType>(number);
}

std::string link_type_name(wire::LinkType type) {
    const char* name = ::pcap_datalink_val_to_name(dlt_of(type));
    return name != nullptr ? name : std::to_string(static_cast<unsigned>(type));
}

std::string link_type_description(wire::LinkType type) {
    const char* description = ::pcap_datalink_val_to_description(dlt_of(type));
    return description != nullptr ? description : "";
}

std::optional<wire::LinkType> link_type_named(std::string_view name) {
    const int dlt = ::pcap_datalink_name_to_val(std::string(name).c_str());
    if (dlt < 0) return std::nullopt;
    return link_type_of(dlt);
}

}  // namespace capture
