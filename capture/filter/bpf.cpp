#include "capture/filter/bpf.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <fmt/core.h>
#include <pcap/pcap.h>

#include "capture/link_type.h"

namespace capture::inline filter {

struct PacketFilter::Program {
    bpf_program code = {};
    Program() = default;
    ~Program() { ::pcap_freecode(&code); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
};

PacketFilter::PacketFilter(std::unique_ptr<Program> program, std::string expression)
    : program_(std::move(program)), expression_(std::move(expression)) {}
PacketFilter::PacketFilter(PacketFilter&&) noexcept = default;
PacketFilter& PacketFilter::operator=(PacketFilter&&) noexcept = default;
PacketFilter::~PacketFilter() = default;

base::Error filter_error(const std::string& expression, const std::string& reason, wire::LinkType link_type) {
    base::Error error{.message = fmt::format("the capture filter `{}` is not valid: {}", expression, reason)};
    const bool ethernet_like = link_type == wire::LinkType::ethernet || link_type == wire::LinkType::linux_sll ||
                               link_type == wire::LinkType::linux_sll2;
    if (!ethernet_like)
        error.message += fmt::format(
            " (link type {}: capture filters know little of it; -Y takes a display filter, "
            "which works on every link type)",
            link_type_name(link_type));
    return error;
}

namespace {

using Pcap = std::unique_ptr<pcap_t, decltype(&::pcap_close)>;

/// A pcap file without packets: libpcap compiles otherwise for files, where address families of NULL are those of any
/// system and `inbound` cannot be asked.
Pcap empty_file(const FilterOptions& options) {
    std::array<std::uint32_t, 6> header{
        0xa1b2'c3d4, 0, 0, 0, options.snaplen, static_cast<std::uint32_t>(options.link_type)};
    const std::array<std::uint16_t, 2> version{PCAP_VERSION_MAJOR, PCAP_VERSION_MINOR};
    std::memcpy(&header[1], version.data(), sizeof version);
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    std::FILE* file = ::fmemopen(header.data(), sizeof header, "r");
    pcap_t* pcap = file != nullptr ? ::pcap_fopen_offline(file, reason.data()) : nullptr;
    if (pcap == nullptr && file != nullptr) std::fclose(file);
    return {pcap, ::pcap_close};
}

}  // namespace

base::Result<PacketFilter> PacketFilter::compile(const std::string& expression, const FilterOptions& options) {
    // libpcap would read the text before it only, and an empty text passes everything.
    if (expression.find('\0') != std::string::npos)
        return base::failure("the capture filter has a NUL character; remove it");
    const Pcap dead =
        options.of_file
            ? empty_file(options)
            : Pcap(::pcap_open_dead(dlt_of(options.link_type), static_cast<int>(options.snaplen)), ::pcap_close);
    if (!dead) return base::Failure{base::Error{.message = "no memory to compile the capture filter"}};
    auto program = std::make_unique<Program>();
    const bpf_u_int32 netmask = options.netmask.value_or(PCAP_NETMASK_UNKNOWN);
    if (::pcap_compile(dead.get(), &program->code, expression.c_str(), options.optimise ? 1 : 0, netmask) != 0)
        return base::Failure{filter_error(expression, ::pcap_geterr(dead.get()), options.link_type)};
    return PacketFilter(std::move(program), expression);
}

bool PacketFilter::matches(const wire::Frame& frame) const {
    return ::bpf_filter(program_->code.bf_insns, reinterpret_cast<const u_char*>(frame.bytes.data()), frame.wire_length,
                        static_cast<u_int>(frame.bytes.size())) != 0;
}

std::string PacketFilter::listing(Listing form) const {
    const bpf_program& code = program_->code;
    std::string out;
    if (form == Listing::decimal) out = fmt::format("{}\n", code.bf_len);
    for (u_int i = 0; i < code.bf_len; ++i) {
        const bpf_insn& insn = code.bf_insns[i];
        switch (form) {
            case Listing::mnemonics: out += fmt::format("{}\n", ::bpf_image(&insn, static_cast<int>(i))); break;
            case Listing::c_fragment:
                out += fmt::format("{{ {:#x}, {}, {}, 0x{:08x} }},\n", insn.code, insn.jt, insn.jf, insn.k);
                break;
            case Listing::decimal: out += fmt::format("{} {} {} {}\n", insn.code, insn.jt, insn.jf, insn.k); break;
        }
    }
    return out;
}

}  // namespace capture::filter
