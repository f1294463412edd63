#include "cli/demo/recorded.h"

#include <cerrno>
#include <fmt/core.h>
#include <span>
#include <string_view>
#include <sys/mman.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "cli/console.h"

namespace cli::demo {

/// From pcaps/demo-loopback.pcap.gz, by cmake/embed.cmake.
extern const std::span<const unsigned char> recorded_octets;

base::Result<std::unique_ptr<capture::FileSource>> open_recorded() {
    // Files are opened by name: this one lives in memory and has a name there.
    const base::Descriptor file(::memfd_create("demo-loopback", MFD_CLOEXEC));
    if (file) {
        const std::string_view octets(reinterpret_cast<const char*>(recorded_octets.data()), recorded_octets.size());
        static_cast<void>(base::write_all(file.number(), octets));
    }
    return capture::open_file(fmt::format("/proc/self/fd/{}", file.number()), {});
}

}  // namespace cli::demo
