#include "fleet/sink/spool_batch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <optional>
#include <zlib.h>

namespace fleet::sink {
namespace {

/// A file is this line, then for each section a line of its table, columns, rows, length and CRC-32, and its bytes. The
/// CRC-32 covers the line up to the CRC-32, and the bytes.
constexpr std::string_view first_line = "rdmascope spool 1\n";

std::uint32_t checksum(std::string_view heading, std::string_view octets) {
    uLong crc = 0;
    for (const std::string_view part : {heading, octets})
        crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    return static_cast<std::uint32_t>(crc);
}

std::string gzip(std::string_view plain) {
    z_stream stream{};
    constexpr int gzip_window = 15 + 16;
    constexpr int memory_level = 8;
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    std::string packed;
    std::string input(plain);  // zlib's interface is not const
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    std::size_t rest = input.size();
    std::array<char, std::size_t{1} << 16> piece;
    int code = Z_OK;
    while (code == Z_OK) {
        if (stream.avail_in == 0) {
            const std::size_t next = std::min<std::size_t>(rest, std::size_t{1} << 30);
            stream.avail_in = static_cast<uInt>(next);
            rest -= next;
        }
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        code = deflate(&stream, rest == 0 ? Z_FINISH : Z_NO_FLUSH);
        packed.append(piece.data(), piece.size() - stream.avail_out);
    }
    deflateEnd(&stream);
    return packed;
}

/// Of the rows of a section: a bound for memory.
constexpr std::size_t most_plain_octets = std::size_t{4} << 30;

/// Takes the text up to `end` from the beginning; no value without `end`.
std::optional<std::string_view> take(std::string_view& text, char end) {
    const std::size_t at = text.find(end);
    if (at == std::string_view::npos) return {};
    const std::string_view found = text.substr(0, at);
    text.remove_prefix(at + 1);
    return found;
}

std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
    const auto word = take(text, end);
    std::uint64_t number = 0;
    if (!word || word->empty()) return {};
    const auto [stop, code] = std::from_chars(word->data(), word->data() + word->size(), number);
    if (code != std::errc{} || stop != word->data() + word->size()) return {};
    return number;
}

std::optional<Section> take_section(std::string_view& octets) {
    const std::string_view begin = octets;
    const auto table = take(octets, ' ');
    const auto columns = take(octets, ' ');
    const auto rows = take_number(octets, ' ');
    const auto length = take_number(octets, ' ');
    const std::string_view heading = begin.substr(0, begin.size() - octets.size());
    const auto crc = take_number(octets, '\n');
    if (!table || !columns || !rows || !length || !crc || *length > octets.size()) return {};
    Section section{std::string(*table), std::string(*columns), std::string(octets.substr(0, *length)), *rows};
    octets.remove_prefix(*length);
    if (checksum(heading, section.gzipped) != *crc) return {};
    return section;
}

}  // namespace

std::string Section::statement() const { return fmt::format("INSERT INTO {} ({}) FORMAT RowBinary", table, columns); }

base::Result<std::string> Section::plain() const {
    z_stream stream{};
    constexpr int gzip_window = 15 + 16;
    if (inflateInit2(&stream, gzip_window) != Z_OK) throw std::bad_alloc();
    std::string out;
    std::string input(gzipped);  // zlib's interface is not const
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    std::size_t rest = input.size();
    std::vector<char> piece(std::size_t{1} << 18);
    int code = Z_OK;
    while (code == Z_OK && out.size() <= most_plain_octets) {
        if (stream.avail_in == 0) {
            const std::size_t next = std::min<std::size_t>(rest, std::size_t{1} << 30);
            stream.avail_in = static_cast<uInt>(next);
            rest -= next;
        }
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        code = inflate(&stream, Z_NO_FLUSH);
        out.append(piece.data(), piece.size() - stream.avail_out);
        // Sections that were sent together are gzip files that follow one another.
        if (code == Z_STREAM_END && (stream.avail_in != 0 || rest != 0)) code = inflateReset(&stream);
    }
    inflateEnd(&stream);
    if (code != Z_STREAM_END) return base::failure("the rows are damaged");
    return out;
}

Section SectionWriter::finish() const {
    return {std::string(table_.name), rows::column_list(table_), gzip(plain_), rows_};
}

std::string Batch::encoded() const {
    std::string out(first_line);
    for (const Section& section : sections) {
        const std::string heading =
            fmt::format("{} {} {} {} ", section.table, section.columns, section.rows, section.gzipped.size());
        out += fmt::format("{}{}\n", heading, checksum(heading, section.gzipped));
        out += section.gzipped;
    }
    return out;
}

void Batch::add(Batch&& later) {
    for (Section& section : later.sections) {
        const auto same = std::ranges::find_if(
            sections, [&](const Section& one) { return one.table == section.table && one.columns == section.columns; });
        if (same == sections.end()) {
            sections.push_back(std::move(section));
            continue;
        }
        same->gzipped += section.gzipped;
        same->rows += section.rows;
    }
}

base::Result<Batch> Batch::decode(std::string_view octets) {
    if (!octets.starts_with(first_line)) return base::failure("not a file of a spool");
    octets.remove_prefix(first_line.size());
    Batch batch;
    while (!octets.empty()) {
        auto section = take_section(octets);
        if (!section) return base::failure("damaged");
        batch.sections.push_back(*std::move(section));
    }
    return batch;
}

}  // namespace fleet::sink
