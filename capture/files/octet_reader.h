#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"

namespace capture::inline files {

/// A stream of bytes, which is read in pieces.
class OctetReader {
public:
    virtual ~OctetReader() = default;

    /// Fills the beginning of `into` and returns the number of bytes; 0 is the end, or a fault if fault() is not empty.
    virtual std::size_t read(base::MutableBytes into) = 0;

    virtual std::string_view compression() const { return {}; }
    /// Bytes taken from the file itself.
    virtual std::uint64_t consumed() const = 0;
    const std::string& fault() const { return fault_; }
    /// Whether the data ended on request.
    virtual bool stopped() const = 0;

protected:
    std::string fault_ = {};
};

/// A descriptor with read(2), and a look ahead for the magic at its beginning.
class DescriptorReader final : public OctetReader {
public:
    /// `stop` is asked while there is nothing to read: true ends the data. An empty function never ends it.
    DescriptorReader(base::Descriptor descriptor, std::function<bool()> stop)
        : descriptor_(std::move(descriptor)), stop_(std::move(stop)) {}

    /// The first `octets` bytes, without consuming them; fewer if the stream ends earlier.
    base::Bytes peek(std::size_t octets);
    std::size_t read(base::MutableBytes into) override;
    std::uint64_t consumed() const override { return consumed_; }
    bool stopped() const override { return stopped_; }

private:
    std::size_t read_descriptor(base::MutableBytes into);
    bool is_stop_requested();

    base::Descriptor descriptor_;
    std::function<bool()> stop_;
    bool stopped_ = false;
    std::vector<std::byte> ahead_ = {};
    std::uint64_t consumed_ = 0;
};

/// Whether a file with these first four bytes (big-endian) may be compressed by zstd or lz4.
bool is_compression_magic(std::uint32_t word);

/// The decompressor for the magic at the beginning of `raw`, or `raw` itself.
std::unique_ptr<OctetReader> decompress(std::unique_ptr<DescriptorReader> raw);

}  // namespace capture::files
