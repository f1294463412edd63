#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "wire/frame.h"

namespace capture::inline filter {

/// An instruction of classic BPF, laid out as the kernel's sock_filter and libpcap's bpf_insn are.
struct BpfInstruction {
    std::uint16_t code = 0;
    std::uint8_t if_true = 0;
    std::uint8_t if_false = 0;
    std::uint32_t k = 0;

    bool operator==(const BpfInstruction&) const = default;
};

/// Returns the number of bytes of a frame to keep; 0 drops the frame.
using BpfProgram = std::vector<BpfInstruction>;

constexpr std::size_t bpf_longest = 4096;  ///< the most instructions that the kernel accepts

/// A pcap-filter(7) expression for frames as a packet socket on `interface` sees them. The kernel may deliver the
/// outermost VLAN tag next to the frame; `vlan` looks for it there too. An empty expression passes all frames.
base::Result<BpfProgram> compile_for_socket(const std::string& expression, const std::string& interface,
                                            wire::LinkType link_type, std::uint32_t snaplen);

/// The number of bytes that a program keeps of these bytes. For tests, and for frames of files.
std::uint32_t run(const BpfProgram& program, base::Bytes octets, std::uint32_t wire_length);

/// Replaces the filter of a packet socket, in one step for the frames that pass.
base::Result<void> attach(int socket, const BpfProgram& program);

/// The same for a loopback interface, where every frame passes twice: leaving frames are dropped.
BpfProgram without_leaving(const BpfProgram& program);

}  // namespace capture::filter
