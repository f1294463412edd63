#pragma once
#include <string>
#include <vector>

#include "capture/files/output.h"
#include "capture/files/writer.h"

namespace capture::inline files {

/// A pcapng file in the machine's byte order: interfaces with all that is known of them, nanoseconds, comments,
/// directions, and at the end of each section the counts.
class PcapngWriter final : public Writer {
public:
    PcapngWriter(Output output, const WriterOptions& options);
    ~PcapngWriter() override;

    base::Result<void> describe(const InterfaceInfo& interface) override;
    base::Result<void> begin_section(const SectionInfo& section) override;
    WriteStatus write(const wire::Frame& frame, const InterfaceInfo& interface) override;
    void count(const InterfaceInfo& interface, const Statistics& statistics) override;
    base::Result<void> flush() override { return output_.flush(); }
    /// If the output is in memory: appends to `to` what was written since the last call.
    void take(std::string& to) { output_.take(to); }
    base::Result<void> close() override;
    std::uint64_t octets() const override { return output_.octets(); }
    const base::Error& error() const override { return output_.error(); }

private:
    struct Known {
        InterfaceInfo info;
        std::int64_t last_ns = 0;
        Statistics counts = {};
    };

    // A failure of these functions stays in the output.
    void write_section(SectionInfo section);
    void end_section();
    void write_interface(const InterfaceInfo& interface);
    void write_counts(std::uint32_t id, const Known& known);
    /// Index into known_; describes a new interface. `hint` is the source's own index.
    std::uint32_t id_of(const InterfaceInfo& interface, std::uint32_t hint);

    Output output_;
    bool packet_buffered_;
    bool closed_ = false;
    std::vector<Known> known_ = {};
    std::uint32_t last_ordinal_ = 0;         ///< the greatest ordinal of any interface so far
    std::vector<std::uint32_t> hints_ = {};  ///< by the source's index, where the id was found last
};

}  // namespace capture::files
