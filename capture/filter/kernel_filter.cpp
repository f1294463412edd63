#include "capture/filter/kernel_filter.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <linux/if_packet.h>
#include <memory>
#include <pcap/pcap.h>
#include <span>
#include <sys/socket.h>

#include "capture/filter/bpf.h"
#include "capture/link_type.h"

namespace capture::inline filter {
namespace {

static_assert(sizeof(BpfInstruction) == sizeof(bpf_insn));

// linux/filter.h has these, and the same macros as libpcap's header.
struct KernelProgram {
    unsigned short length;
    const BpfInstruction* instructions;
};
constexpr std::uint32_t packet_type = static_cast<std::uint32_t>(-0x1000) + 4;  // SKF_AD_OFF + SKF_AD_PKTTYPE

using Pcap = std::unique_ptr<pcap_t, decltype(&::pcap_close)>;

/// libpcap looks for tags outside the frame only in code for an interface that libpcap itself has opened.
Pcap opened(const std::string& interface, std::uint32_t snaplen) {
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    Pcap pcap(::pcap_create(interface.c_str(), reason.data()), ::pcap_close);
    if (!pcap) return pcap;
    ::pcap_set_snaplen(pcap.get(), static_cast<int>(snaplen));
    ::pcap_set_buffer_size(pcap.get(), 1 << 16);
    if (::pcap_activate(pcap.get()) < 0) pcap.reset();
    return pcap;
}

Pcap handle_for(const std::string& expression, const std::string& interface, wire::LinkType link_type,
                std::uint32_t snaplen) {
    Pcap pcap(nullptr, ::pcap_close);
    if (!interface.empty() && expression.find("vlan") != std::string::npos) pcap = opened(interface, snaplen);
    if (!pcap) pcap.reset(::pcap_open_dead(dlt_of(link_type), static_cast<int>(snaplen)));
    return pcap;
}

}  // namespace

base::Result<BpfProgram> compile_for_socket(const std::string& expression, const std::string& interface,
                                            wire::LinkType link_type, std::uint32_t snaplen) {
    const Pcap pcap = handle_for(expression, interface, link_type, snaplen);
    if (!pcap) return base::Failure{base::Error{.message = "no memory to compile the capture filter"}};
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    bpf_u_int32 network = 0;
    bpf_u_int32 netmask = PCAP_NETMASK_UNKNOWN;
    if (interface.empty() || ::pcap_lookupnet(interface.c_str(), &network, &netmask, reason.data()) != 0)
        netmask = PCAP_NETMASK_UNKNOWN;
    bpf_program code = {};
    if (::pcap_compile(pcap.get(), &code, expression.c_str(), 1, netmask) != 0)
        return base::Failure{filter_error(expression, ::pcap_geterr(pcap.get()), link_type)};
    BpfProgram program;
    program.reserve(code.bf_len);
    for (const bpf_insn& each : std::span(code.bf_insns, code.bf_len))
        program.push_back({each.code, each.jt, each.jf, each.k});
    ::pcap_freecode(&code);
    if (program.size() > bpf_longest)
        return base::Failure{base::Error{
            .message = fmt::format("the capture filter has {} instructions, the kernel takes {}; shorten it",
                                   program.size(), bpf_longest)}};
    return program;
}

std::uint32_t run(const BpfProgram& program, base::Bytes octets, std::uint32_t wire_length) {
    return ::bpf_filter(reinterpret_cast<const bpf_insn*>(program.data()),
                        reinterpret_cast<const u_char*>(octets.data()), wire_length, static_cast<u_int>(octets.size()));
}

base::Result<void> attach(int socket, const BpfProgram& program) {
    const KernelProgram code{static_cast<unsigned short>(program.size()), program.data()};
    if (program.size() <= bpf_longest && ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &code, sizeof code) == 0)
        return {};
    const int why = program.size() > bpf_longest ? EINVAL : errno;
    std::string message =
        fmt::format("the kernel refused the capture filter of {} instructions: {}", program.size(), std::strerror(why));
    if (why == ENOMEM) message += "; a larger net.core.optmem_max (sysctl) makes room for it";
    return base::Failure{base::Error{.message = std::move(message)}};
}

BpfProgram without_leaving(const BpfProgram& program) {
    BpfProgram longer{{BPF_LD | BPF_B | BPF_ABS, 0, 0, packet_type},
                      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PACKET_OUTGOING},
                      {BPF_RET | BPF_K, 0, 0, 0}};
    longer.insert(longer.end(), program.begin(), program.end());
    return longer;
}

}  // namespace capture::filter
