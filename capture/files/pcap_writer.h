#pragma once
#include <optional>

#include "capture/files/output.h"
#include "capture/files/writer.h"

namespace capture::inline files {

/// A pcap file in the machine's byte order: one link type, no comments, directions or drop counts. Its header is
/// written with the first interface; if there was none, close() writes a header for Ethernet.
class PcapWriter final : public Writer {
public:
    PcapWriter(Output output, const WriterOptions& options);
    ~PcapWriter() override;

    base::Result<void> describe(const InterfaceInfo& interface) override;
    WriteStatus write(const wire::Frame& frame, const InterfaceInfo& interface) override;
    void count(const InterfaceInfo&, const Statistics&) override {}
    base::Result<void> flush() override;
    base::Result<void> close() override;
    std::uint64_t octets() const override { return output_.octets(); }
    const base::Error& error() const override { return failed_ ? error_ : output_.error(); }

private:
    base::Result<void> write_header(const InterfaceInfo& interface);
    base::Failure<base::Error> refuse(wire::LinkType other);

    Output output_;
    TimePrecision precision_;
    std::uint32_t snaplen_;
    bool packet_buffered_;
    std::optional<wire::LinkType> link_type_ = {};
    bool closed_ = false;
    bool failed_ = false;
    base::Error error_ = {};
};

}  // namespace capture::files
