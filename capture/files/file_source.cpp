#include "capture/files/file_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/core.h>
#include <optional>

#include "capture/files/byte_order.h"
#include "capture/files/erf_source.h"
#include "capture/files/pcap_source.h"
#include "capture/files/pcapng.h"
#include "capture/files/pcapng_source.h"

namespace capture::inline files {
namespace {

constexpr std::size_t magic_octets = 16;

struct Impostor {
    std::string_view magic;
    std::string_view what;
};

using namespace std::string_view_literals;

/// Files that are given in place of a capture, with what to do about it.
constexpr std::array impostors{
    Impostor{"rdmatrc\n"sv, "a trace of `rdmascope run`; read it with --trace FILE, and the capture with -r"},
    Impostor{"RDMAHIST"sv, "a part of a daemon's history; read it with --history and the name of its folder"},
    Impostor{"snoop\0\0\0"sv, "a Solaris snoop capture; convert it with editcap"},
    Impostor{"GMBU"sv, "a Microsoft Network Monitor 2 capture; convert it with editcap"},
    Impostor{"RTSS"sv, "a Microsoft Network Monitor 1 capture; convert it with editcap"},
    Impostor{"XCP\0"sv, "a NetXRay or Windows Sniffer capture; convert it with editcap"},
    Impostor{"TRSNIFF data"sv, "a DOS Sniffer capture; convert it with editcap"},
    Impostor{"\xac\x01\x00\x1c"sv, "an Ixia capture; convert it with editcap"},
    Impostor{"\xab\x01\x00\x1c"sv, "an Ixia capture; convert it with editcap"},
    Impostor{"\xcd\x34\xb2\xa1"sv, "a pcap file of a modified libpcap (magic 0xa1b234cd); convert it with editcap"},
    Impostor{"\xa1\xb2\x34\xcd"sv, "a pcap file of a modified libpcap (magic 0xa1b234cd); convert it with editcap"},
    Impostor{"\x4d\x3c\x2b\xa1"sv, "a pcap file of a modified libpcap (magic 0xa12b3c4d); convert it with editcap"},
    Impostor{"\xa1\x2b\x3c\x4d"sv, "a pcap file of a modified libpcap (magic 0xa12b3c4d); convert it with editcap"},
    Impostor{"\xfd\x37zXZ\0"sv, "xz data; give it as `xz -dc FILE |` with the file name -"},
    Impostor{"BZh"sv, "bzip2 data; give it as `bzip2 -dc FILE |` with the file name -"},
    Impostor{"\x02\x21\x4c\x18"sv, "lz4 data of the legacy format; give it as `lz4 -dc FILE |` with the file name -"},
    Impostor{"PK\x03\x04"sv, "a zip archive; unpack it first"},
    Impostor{"\x7f"
             "ELF"sv,
             "a program"},
    Impostor{"<!DOCTYPE"sv, "a web page; the download went wrong"},
    Impostor{"<html"sv, "a web page; the download went wrong"},
    Impostor{"\0\0\0\0\0\0\0\0"sv, "nothing but zeros at its start; its contents were never written"},
};

bool is_text(base::Bytes front) {
    return std::all_of(front.begin(), front.end(), [](std::byte byte) {
        const auto octet = std::to_integer<unsigned char>(byte);
        return std::isprint(octet) != 0 || std::isspace(octet) != 0;
    });
}

std::string looks_like(base::Bytes front) {
    const std::string_view text(reinterpret_cast<const char*>(front.data()), front.size());
    for (const Impostor& impostor : impostors)
        if (text.starts_with(impostor.magic)) return fmt::format("; it looks like {}", impostor.what);
    return is_text(front) ? "; it looks like text" : "";
}

bool is_pcap(std::uint32_t magic) {
    for (const std::uint32_t known : {pcap_magic::microseconds, pcap_magic::nanoseconds, pcap_magic::kuznetzov})
        if (magic == known || magic == __builtin_bswap32(known)) return true;
    return false;
}

/// The format that the first bytes show; no value if they are of no capture.
std::optional<FileFormat> format_of(Input& input) {
    const Input::Window window = input.more(input.begin(), 4);
    if (window.end - window.at < 4) return std::nullopt;
    const std::uint32_t magic = ByteOrder<false>::u32(window.at);
    if (magic == pcapng::block::section_header) return FileFormat::pcapng;
    if (is_pcap(magic)) return FileFormat::pcap;
    if (looks_like_erf(input)) return FileFormat::erf;
    return std::nullopt;
}

}  // namespace

ReadStatus FileSource::fail(std::uint64_t offset, std::string message) {
    error_.message = std::move(message);
    error_.offset = offset;
    error_.frames = frames_;
    failed_ = true;
    return ReadStatus::error;
}

ReadStatus FileSource::cut_short(std::string_view what, std::uint64_t need) {
    if (input_->stopped()) return ReadStatus::end;
    const std::uint64_t offset = input_->offset_of(at_);
    if (!input_->fault().empty()) return fail(offset, input_->fault());
    return fail(offset, cut_message(what, available(), need));
}

std::string FileSource::cut_message(std::string_view what, std::uint64_t have, std::uint64_t need) {
    return fmt::format("the file ends {} bytes into {} of {}: it was cut short or is still being written", have, what,
                       need);
}

base::Result<std::unique_ptr<FileSource>> open_file(const std::string& path, const FileOptions& options) {
    auto opened = open_input(path, options);
    if (!opened) return base::Failure{opened.error()};
    std::unique_ptr<Input> input = std::move(opened).value();
    const std::string shown = path == "-" ? "standard input" : path;
    const auto refuse = [&](std::string message) {
        return base::Failure{base::Error{.message = std::move(message), .path = shown, .offset = 0}};
    };

    if (const std::optional<FileFormat> format = format_of(*input)) {
        switch (*format) {
            case FileFormat::pcap: return open_pcap(std::move(input), shown);
            case FileFormat::pcapng: return open_pcapng(std::move(input), shown);
            case FileFormat::erf: return open_erf(std::move(input), shown);
        }
    }
    const Input::Window window = input->more(input->begin(), magic_octets);
    const auto have = static_cast<std::size_t>(window.end - window.at);
    if (input->stopped()) return refuse("was stopped before a capture came");
    if (!input->fault().empty()) return refuse(input->fault());
    if (have == 0) return refuse("is empty; nothing was captured, or nothing is flushed yet");
    const base::Bytes front(window.at, std::min(have, magic_octets));
    std::string hex;
    for (const std::byte octet : front.first(std::min<std::size_t>(have, 4)))
        hex += fmt::format("{:02x}", std::to_integer<unsigned>(octet));
    return refuse(fmt::format("is not a pcap or pcapng file: it begins with 0x{}{}", hex, looks_like(front)));
}

bool begins_as_capture(const std::string& path) {
    const auto input = open_input(path, {});
    if (!input || !format_of(**input)) return false;
    // ERF has no magic: the date at the beginning of a log can look like a record.
    const Input::Window window = (*input)->more((*input)->begin(), magic_octets);
    const auto have = static_cast<std::size_t>(window.end - window.at);
    return !is_text({window.at, std::min(have, magic_octets)});
}

}  // namespace capture::files
