// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/preferences.h"

namespace plugins::wireshark {

void Preferences::register_all(int protocol) {
    module_t* module = prefs_register_protocol(protocol, nullptr);
    const auto flag = [module](const char* name, const char* title, const char* help, Flag& value) {
        prefs_register_bool_preference(module, name, title, help, &value);
    };
    flag("verify_crc", "Verify ICRC, VCRC and MPA CRC", "Compute the CRCs of whole packets and compare them",
         verify_crc_);
    prefs_register_uint_preference(module, "link_rate", "Link rate of every host, Mbit/s",
                                   "What wire times are computed with; 0: learnt from what hosts send", 10,
                                   &link_mbit_per_sec_);
    flag("units", "Show RDMA packets", "What `rdmascope dump` says of each RDMA packet: operation, position, CRC",
         units_);
    flag("commands", "Show commands of upper layers",
         "NVMe, NFS, SCSI, SMB and RDS: which command a message belongs to, and how long the command took", commands_);
    flag("info_column", "Tell events in the Info column", "Retransmissions, NAKs, CNPs and the like, in brackets",
         info_column_);
    flag("dissect_cnp", "Dissect RoCEv2 CNP", "Congestion notification packets: their reserved bytes and ICRC", cnp_);
    flag("dissect_xrc", "Dissect XRC", "XRCETH, and the headers after it at their true places", xrc_);
    flag("dissect_rd", "Dissect RD", "Reliable datagrams: RDETH, DETH and the headers after them", rd_);
    flag("dissect_immediate", "Dissect iWARP Immediate Data", "RFC 7306, section 6", immediate_);
    flag("dissect_terminate", "Dissect the headers in a Terminate",
         "The DDP and RDMAP headers of the segment that the Terminate is about", terminate_);
    flag("dissect_mpa_parameters", "Dissect IRD and ORD of MPA revision 2", "RFC 6581, section 9", mpa_parameters_);
    flag("dissect_midway", "Dissect iWARP streams first seen midway",
         "Streams whose MPA request is not in the capture, found by the lengths and CRCs of their FPDUs",
         streams_midway_);
    flag("dissect_upper", "Dissect upper layers that Wireshark lacks",
         "Messages of SRP, RDS and rsockets, and of NVMe and iSER on iWARP", upper_layers_);
}

AnalysisOptions Preferences::analysis() const {
    AnalysisOptions options;
    options.verify_crc = verify_crc_ != 0;
    if (link_mbit_per_sec_ != 0) options.link_bits_per_sec = std::uint64_t{link_mbit_per_sec_} * 1'000'000;
    options.commands = commands_ != 0;
    options.lacking = {cnp_ != 0,
                       xrc_ != 0,
                       rd_ != 0,
                       immediate_ != 0,
                       terminate_ != 0,
                       mpa_parameters_ != 0,
                       streams_midway_ != 0,
                       upper_layers_ != 0};
    return options;
}

ShowOptions Preferences::show() const { return {units_ != 0, info_column_ != 0}; }

Preferences& preferences() {
    static Preferences all;
    return all;
}

}  // namespace plugins::wireshark
