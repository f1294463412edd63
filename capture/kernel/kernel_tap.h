#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "base/error.h"
#include "capture/files/file_source.h"
#include "capture/filter/rdma_filter.h"
#include "capture/kernel/learning.h"
#include "wire/frame.h"

namespace capture::inline kernel {

/// The number of bytes that are kept of a frame, by its kind, and the number of connections that the kernel remembers.
struct KernelTapOptions {
    std::uint32_t roce_bytes = 192;
    std::uint32_t management_bytes = management_octets;  ///< of RoCE's connection management, if that is more
    std::uint32_t iwarp_bytes = max_snaplen;
    std::uint32_t connections = 65536;  ///< that the kernel remembers; fixed after loading
    bool discovery = true;              ///< look for FPDUs on connections that began before the capture
    std::uint32_t other_bytes = 0;      ///< of what is neither RDMA nor TCP, such as tunnels; 0: it does not pass
};

/// A packet filter that learns iWARP connections as it runs (eBPF), for any number of packet sockets.
///
/// It passes RoCEv2 from and to UDP port 4791, RoCEv1, pause frames, ICMP errors about RDMA, each SYN, and the TCP
/// connections that speak MPA: from the Request on, where its Reply follows (RFC 5044 section 7.1.1), and from the
/// first FPDU on, where FPDUs follow each other as they should. The segment that shows it passes, too. A new
/// connection passes until its first bytes show what it speaks, for 16 KiB at the most. VLAN tags and IPv6 extension
/// headers are stepped over; tunnels are not. Not found: connections that have markers and began before the capture.
///
/// What is learnt is one connection, never a port: forged frames can fill the kernel's memory of connections, so that
/// fewer are known, but no traffic passes because of them, except within 64 MiB of the sequence numbers that they
/// guessed; and connections that were learnt by FPDUs alone are dropped after 4 MiB without further ones.
class KernelTap {
public:
    /// Fails where the kernel permits no eBPF, or does not accept the program: the text says why and what to do. The
    /// environment variable RDMASCOPE_EBPF=off makes it fail, as on such a kernel. Needs CAP_BPF and CAP_PERFMON.
    static base::Result<std::unique_ptr<KernelTap>> load(const KernelTapOptions& options);
    ~KernelTap();
    KernelTap(const KernelTap&) = delete;
    KernelTap& operator=(const KernelTap&) = delete;

    /// Replaces the filter of a packet socket, in one step. Needs no capability.
    base::Result<void> attach(int socket, wire::LinkType link_type) const;

    /// In force for the next frame, on all sockets. The number of connections stays.
    void set_lengths(const KernelTapOptions& options);
    /// TCP from and to these ports passes, whatever it is.
    void set_ports(std::span<const std::uint16_t> ports);

    LearningFigures figures() const;

private:
    struct Program;
    explicit KernelTap(std::unique_ptr<Program> program);
    std::unique_ptr<Program> program_;
};

}  // namespace capture::kernel
