#include "capture/files/octet_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <lz4frame.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace capture::inline files {

std::size_t DescriptorReader::read_descriptor(base::MutableBytes into) {
    while (!is_stop_requested()) {
        const ssize_t got = ::read(descriptor_.number(), into.data(), into.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno == EINTR) continue;
        fault_ = fmt::format("reading failed: {}", std::strerror(errno));
        return 0;
    }
    return 0;
}

bool DescriptorReader::is_stop_requested() {
    // The signal that sets what stop_ reads may come just before the wait, which therefore has an end.
    constexpr int wait_ms = 100;
    pollfd readable{descriptor_.number(), POLLIN, 0};
    while (stop_ && !stopped_) {
        stopped_ = stop_();
        if (!stopped_ && ::poll(&readable, 1, wait_ms) > 0) return false;
    }
    return stopped_;
}

base::Bytes DescriptorReader::peek(std::size_t octets) {
    while (ahead_.size() < octets) {
        const std::size_t have = ahead_.size();
        ahead_.resize(octets);
        const std::size_t got = read_descriptor(base::MutableBytes(ahead_).subspan(have));
        ahead_.resize(have + got);
        if (got == 0) break;
    }
    return ahead_;
}

std::size_t DescriptorReader::read(base::MutableBytes into) {
    std::size_t got = 0;
    if (!ahead_.empty()) {
        got = std::min(ahead_.size(), into.size());
        std::memcpy(into.data(), ahead_.data(), got);
        ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(got));
    } else if (fault_.empty()) {
        got = read_descriptor(into);
    }
    consumed_ += got;
    return got;
}

namespace {

constexpr std::size_t compressed_octets = std::size_t{256} << 10;

/// What the three decompressors share: a buffer of compressed bytes, and the loop that decodes until at least one byte
/// comes out.
class Decompressor : public OctetReader {
public:
    explicit Decompressor(std::unique_ptr<DescriptorReader> raw) : raw_(std::move(raw)) {}

    std::size_t read(base::MutableBytes into) final {
        std::size_t done = 0;
        while (done == 0 && fault_.empty() && !ended_) {
            if (in_.empty() && !raw_ended_) fill();
            const std::uint64_t before = consumed();
            done = decode(into);
            if (done > 0 || consumed() != before || !fault_.empty() || ended_) continue;
            if (raw_ended_)
                finish();
            else
                damaged("no progress");
        }
        return done;
    }
    std::uint64_t consumed() const final { return raw_->consumed() - in_.size(); }
    bool stopped() const final { return raw_->stopped(); }

protected:
    /// Takes bytes from in_ and puts some into `into`; may set fault_ or ended_.
    virtual std::size_t decode(base::MutableBytes into) = 0;
    /// Whether the data may end here: between two members.
    virtual bool between_members() const = 0;

    /// Refills what was used up, keeping what was not.
    void fill() {
        const std::size_t kept = in_.size();
        if (kept > 0) std::memmove(buffer_.data(), in_.data(), kept);
        const std::size_t got = raw_->read(base::MutableBytes(buffer_).subspan(kept));
        in_ = base::Bytes(buffer_).first(kept + got);
        if (got == 0) raw_ended_ = true;
        if (!raw_->fault().empty()) fault_ = raw_->fault();
    }
    void damaged(std::string_view reason) {
        fault_ = fmt::format("the {} data is damaged after {} compressed bytes: {}", compression(), consumed(), reason);
    }

    base::Bytes in_ = {};
    bool raw_ended_ = false;
    bool ended_ = false;

private:
    void finish() {
        ended_ = true;
        if (between_members() && in_.empty()) return;
        fault_ = fmt::format(
            "the {} data ends early, after {} compressed bytes: the file was cut short or is still "
            "being written",
            compression(), raw_->consumed());
    }

    std::unique_ptr<DescriptorReader> raw_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(compressed_octets);
};

class GzipReader final : public Decompressor {
public:
    explicit GzipReader(std::unique_ptr<DescriptorReader> raw) : Decompressor(std::move(raw)) {
        if (inflateInit2(&stream_, MAX_WBITS + 16) != Z_OK) fault_ = "no memory to decompress gzip";
    }
    ~GzipReader() override { inflateEnd(&stream_); }
    GzipReader(const GzipReader&) = delete;
    GzipReader& operator=(const GzipReader&) = delete;
    std::string_view compression() const override { return "gzip"; }

private:
    std::size_t decode(base::MutableBytes into) override {
        if (between_ && !next_member()) return 0;
        // zlib's declaration lacks the const; it does not write there.
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in_.data()));
        stream_.avail_in = static_cast<uInt>(in_.size());
        stream_.next_out = reinterpret_cast<Bytef*>(into.data());
        stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), std::size_t{1} << 30));
        const uInt room = stream_.avail_out;
        const int code = inflate(&stream_, Z_NO_FLUSH);
        in_ = in_.last(stream_.avail_in);
        if (code == Z_STREAM_END)
            between_ = true;
        else if (code != Z_OK && code != Z_BUF_ERROR)
            damaged(stream_.msg != nullptr ? stream_.msg : zError(code));
        return room - stream_.avail_out;
    }
    /// gzip(1) concatenates members and tolerates padding after the last: anything that is no member ends the data.
    bool next_member() {
        while (in_.size() < 2 && !raw_ended_) fill();
        if (in_.empty()) return false;
        if (in_.size() < 2 || base::load_be16(in_.data()) != 0x1f8b) {
            ended_ = true;
            return false;
        }
        between_ = inflateReset(&stream_) != Z_OK;
        return !between_;
    }
    bool between_members() const override { return between_; }

    z_stream stream_ = {};
    bool between_ = false;
};

/// Of zstd(1) too: the window is memory that the file asks for.
constexpr int largest_window_log = 27;
constexpr const char* window_too_large =
    "the zstd data needs a window of more than 128 MiB (zstd --long=28 and above); decompress it first: zstd -d "
    "--long=31";

class ZstdReader final : public Decompressor {
public:
    explicit ZstdReader(std::unique_ptr<DescriptorReader> raw)
        : Decompressor(std::move(raw)), context_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
        if (!context_ ||
            ZSTD_isError(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, largest_window_log)) != 0)
            fault_ = "no memory to decompress zstd";
    }
    std::string_view compression() const override { return "zstd"; }

private:
    std::size_t decode(base::MutableBytes into) override {
        ZSTD_inBuffer in{in_.data(), in_.size(), 0};
        ZSTD_outBuffer out{into.data(), into.size(), 0};
        if (in_.empty() && between_) return 0;
        const std::size_t code = ZSTD_decompressStream(context_.get(), &out, &in);
        in_ = in_.subspan(in.pos);
        if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
            fault_ = window_too_large;
        else if (ZSTD_isError(code) != 0)
            damaged(ZSTD_getErrorName(code));
        else
            between_ = code == 0;
        return out.pos;
    }
    bool between_members() const override { return between_; }

    std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
    bool between_ = false;
};

class Lz4Reader final : public Decompressor {
public:
    explicit Lz4Reader(std::unique_ptr<DescriptorReader> raw) : Decompressor(std::move(raw)) {
        if (LZ4F_isError(LZ4F_createDecompressionContext(&context_, LZ4F_VERSION)) != 0)
            fault_ = "no memory to decompress lz4";
    }
    ~Lz4Reader() override { LZ4F_freeDecompressionContext(context_); }
    Lz4Reader(const Lz4Reader&) = delete;
    Lz4Reader& operator=(const Lz4Reader&) = delete;
    std::string_view compression() const override { return "lz4"; }

private:
    std::size_t decode(base::MutableBytes into) override {
        if (in_.empty() && between_) return 0;
        std::size_t used = in_.size();
        std::size_t made = into.size();
        const std::size_t code = LZ4F_decompress(context_, into.data(), &made, in_.data(), &used, nullptr);
        if (LZ4F_isError(code) != 0) {
            damaged(LZ4F_getErrorName(code));
            return 0;
        }
        in_ = in_.subspan(used);
        between_ = code == 0;
        return made;
    }
    bool between_members() const override { return between_; }

    LZ4F_dctx* context_ = nullptr;
    bool between_ = false;
};

std::uint32_t load_le32(const std::byte* at) {
    std::uint32_t value = 0;
    for (unsigned i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(at[i]) << 8 * i;
    return value;
}

constexpr std::uint32_t zstd_magic = 0x28b52ffd;
constexpr std::uint32_t lz4_magic = 0x04224d18;

/// RFC 8878 section 3.1.2: 0x184D2A50 to 0x184D2A5F, little-endian. lz4 has the same.
bool is_skippable(std::uint32_t word) { return (word & 0xf0ffffff) == 0x502a4d18; }

/// The magic of the first frame that is not to be skipped, if what is skipped is short; else 0. The frames themselves
/// stay where they are: both libraries skip them.
std::uint32_t magic_after_skippable(DescriptorReader& raw) {
    constexpr std::size_t header_octets = 8;
    constexpr std::size_t most_skipped = std::size_t{1} << 20;
    std::size_t at = 0;
    while (at <= most_skipped) {
        const base::Bytes octets = raw.peek(at + header_octets);
        if (octets.size() < at + header_octets) return 0;
        const std::uint32_t word = base::load_be32(octets.data() + at);
        if (!is_skippable(word)) return word;
        at += header_octets + load_le32(octets.data() + at + 4);
    }
    return 0;
}

}  // namespace

bool is_compression_magic(std::uint32_t word) { return word == zstd_magic || word == lz4_magic || is_skippable(word); }

std::unique_ptr<OctetReader> decompress(std::unique_ptr<DescriptorReader> raw) {
    const base::Bytes magic = raw->peek(4);
    if (magic.size() >= 2 && base::load_be16(magic.data()) == 0x1f8b)
        return std::make_unique<GzipReader>(std::move(raw));
    if (magic.size() < 4) return raw;
    std::uint32_t word = base::load_be32(magic.data());
    if (is_skippable(word)) word = magic_after_skippable(*raw);
    if (word == zstd_magic) return std::make_unique<ZstdReader>(std::move(raw));
    if (word == lz4_magic) return std::make_unique<Lz4Reader>(std::move(raw));
    return raw;
}

}  // namespace capture::files
