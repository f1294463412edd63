// SPDX-License-Identifier: GPL-2.0-or-later
// What Wireshark calls: nothing is thrown past this file, and all that lasts longer than a file of frames is what was
// registered.
#include <memory>
#include <vector>

#include "plugins/wireshark/compat.h"
#include "plugins/wireshark/guard.h"
#include "plugins/wireshark/preferences.h"
#include "plugins/wireshark/presentation.h"
#include "plugins/wireshark/statistics.h"
#include "plugins/wireshark/tvb_frame.h"

namespace plugins::wireshark {

namespace {

Registrations& registered() {
    static Registrations all;
    return all;
}

/// Of the file that is open; made with its first frame.
std::unique_ptr<Analysis>& analysis() {
    static std::unique_ptr<Analysis> of_file;
    return of_file;
}

Analysis* current_analysis() { return analysis().get(); }

void begin_file() {
    guarded("reset", [] { analysis().reset(); });
}
void end_of_frames() {
    guarded("finish", [] {
        if (analysis()) analysis()->finish();
    });
}

void feed(const wire::Frame& frame, const packet_info& pinfo) {
    if (!analysis()) analysis() = std::make_unique<Analysis>(preferences().analysis());
    analysis()->feed(frame, {has_protocol(pinfo, registered().mpa)});
}

void analyse(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree) {
    if (pinfo->rec == nullptr || pinfo->rec->rec_type != REC_TYPE_PACKET) return;
    std::vector<std::byte> rebuilt;
    const wire::Frame frame = frame_of(tvb, *pinfo, rebuilt);
    if (!PINFO_FD_VISITED(pinfo)) feed(frame, *pinfo);
    if (!analysis()) return;
    show(*analysis(), registered(), preferences().show(), frame, tvb, pinfo, tree);
    offer_to_taps(*analysis(), registered().tap, pinfo);
}

int dissect_frame(tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree, void*) {
    guarded("analysis", [&] { analyse(tvb, pinfo, tree); });
    return static_cast<int>(tvb_captured_length(tvb));
}

void register_protocol() {
    Registrations& r = registered();
    r.protocol = proto_register_protocol("RDMA analysis", "RDMA", "rdma");
    r.fields.register_fields(r.protocol);
    r.events.register_fields(r.protocol);
    r.command_experts.register_items(r.protocol);
    r.house_fields.register_fields(r.protocol);
    static int* folds[] = {&r.fold};
    proto_register_subtree_array(folds, static_cast<int>(std::size(folds)));
    r.tap = register_tap("rdma");
    preferences().register_all(r.protocol);
    register_statistics_menu(current_analysis);
    register_init_routine(begin_file);
    register_cleanup_routine(begin_file);
    register_postseq_cleanup_routine(end_of_frames);
    register_postdissector(register_dissector("rdma", dissect_frame, r.protocol));
}

void hand_off() {
    Registrations& r = registered();
    r.mpa = proto_get_id_by_filter_name("iwarp_mpa");
    r.filled_protocols = {r.mpa};
    for (const char* name : {"infiniband", "iwarp_ddp_rdmap", "nvme", "nvme-rdma", "iser", "iscsi", "scsi"})
        r.filled_protocols.push_back(proto_get_id_by_filter_name(name));
}

}  // namespace

}  // namespace plugins::wireshark

// A constant has internal linkage in C++ unless it is declared so one by one.
extern "C" WS_DLL_PUBLIC_DEF const gchar plugin_version[] = PLUGIN_VERSION;
extern "C" WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
extern "C" WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;
extern "C" {
WS_DLL_PUBLIC void plugin_register(void);
#ifdef RDMASCOPE_PLUGIN_DESCRIBE
WS_DLL_PUBLIC uint32_t plugin_describe(void);
#endif
}

void plugin_register(void) {
    static proto_plugin plug;
    plug.register_protoinfo = [] {
        plugins::wireshark::guarded("registration", plugins::wireshark::register_protocol);
    };
    plug.register_handoff = [] { plugins::wireshark::guarded("registration", plugins::wireshark::hand_off); };
    proto_register_plugin(&plug);
    static tap_plugin taps;
    taps.register_tap_listener = [] {
        plugins::wireshark::guarded("registration", [] {
            plugins::wireshark::register_statistics_commands(plugins::wireshark::current_analysis);
        });
    };
    tap_register_plugin(&taps);
}

#ifdef RDMASCOPE_PLUGIN_DESCRIBE
uint32_t plugin_describe(void) { return WS_PLUGIN_DESC_DISSECTOR | WS_PLUGIN_DESC_TAP_LISTENER; }
#endif
