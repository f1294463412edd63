#include "capture/files/writer.h"

#include "capture/files/output.h"
#include "capture/files/pcap_writer.h"
#include "capture/files/pcapng_writer.h"

namespace capture::inline files {

namespace {

base::Result<std::unique_ptr<Writer>> writer_to(Output output, const WriterOptions& options) {
    std::unique_ptr<Writer> writer;
    if (options.format == FileFormat::pcap)
        writer = std::make_unique<PcapWriter>(std::move(output), options);
    else
        writer = std::make_unique<PcapngWriter>(std::move(output), options);
    if (options.packet_buffered)
        if (const auto flushed = writer->flush(); !flushed) return base::Failure{flushed.error()};
    return writer;
}

}  // namespace

base::Result<std::unique_ptr<Writer>> open_writer(const std::string& path, const WriterOptions& options) {
    auto output = Output::open(path, options.buffer_octets);
    if (!output) return base::Failure{output.error()};
    return writer_to(std::move(output).value(), options);
}

base::Result<std::unique_ptr<Writer>> open_writer(base::Descriptor file, const std::string& path,
                                                  const WriterOptions& options) {
    return writer_to(Output::of_descriptor(std::move(file), path, options.buffer_octets), options);
}

FileFormat format_of_name(std::string_view path) {
    return path.ends_with(".pcap") || path.ends_with(".cap") ? FileFormat::pcap : FileFormat::pcapng;
}

}  // namespace capture::files
