#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "dissect/dissection.h"
#include "wire/frame.h"
#include "wire/nvme.h"

namespace dissect {

/// The meaning of an entry of NVMe depends on the queue and on the command that it answers: LayerRef::variant holds it.
struct NvmeContext {
    enum class Answers : std::uint8_t { plain, connect, property_set, property_get, fabrics };

    wire::NvmeQueueType queue = wire::NvmeQueueType::unknown;
    Answers answers = Answers::plain;
    bool is_long_property = false;
    std::uint32_t property = 0;  ///< offset; of a Property Get; below 64

    constexpr bool is_fabrics() const { return answers != Answers::plain; }

    constexpr std::uint8_t variant() const {
        if (answers == Answers::property_get)
            return static_cast<std::uint8_t>(0x80 | (is_long_property ? 0x40 : 0) | (property & 0x3f));
        return static_cast<std::uint8_t>(static_cast<unsigned>(answers) << 2 | static_cast<unsigned>(queue));
    }
    static constexpr NvmeContext from_variant(std::uint8_t variant) {
        NvmeContext context;
        if ((variant & 0x80) != 0) {
            context.answers = Answers::property_get;
            context.is_long_property = (variant & 0x40) != 0;
            context.property = variant & 0x3f;
            return context;
        }
        context.queue = static_cast<wire::NvmeQueueType>(variant & 3);
        context.answers = static_cast<Answers>(variant >> 2 & 7);
        return context;
    }
};

/// What a message of a program of RPC means depends on the call: LayerRef::variant of its layer holds it.
struct RpcContext {
    std::uint32_t procedure = 0;  ///< below 32
    std::uint32_t version = 0;    ///< 1 to 4; of NFS 0 is a callback
    bool is_call = false;

    constexpr std::uint8_t variant() const {
        const std::uint32_t code = version == 0 ? 0 : (version - 1) & 3;
        return static_cast<std::uint8_t>((procedure & 31) | code << 5 | (is_call ? 0x80u : 0u));
    }
    /// The version that code 0 stands for is the program's own affair: 1, or a callback's.
    static constexpr RpcContext from_variant(std::uint8_t variant) {
        return {variant & 31u, (variant >> 5 & 3u) + 1, (variant & 0x80) != 0};
    }
};

/// The parts of a command's latency, in their order. docs/io.md.
struct CommandParts {
    enum : std::size_t { request, target_before, data, target_after, response, count };
    std::array<std::uint64_t, count> ns{};

    constexpr std::uint64_t latency_ns() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t part : ns) sum += part;
        return sum;
    }
};

/// The role of a message in its command.
/// `interim`: the command stays open.
enum class CommandRole : std::uint8_t { none, request, data_out, data_in, response, interim };
std::string_view name_of(CommandRole role);

/// What is known about a command and its connection when one of its messages passes. Texts are valid only during the
/// call.
struct CommandFacts {
    std::string_view protocol;  ///< "nvme"
    std::string_view heading;   ///< "NVMe"
    std::string_view evidence;  ///< why the connection counts as that protocol: "private_data"
    CommandRole role = CommandRole::none;

    std::uint64_t number = 0;       ///< in the connection, from 1; 0: the command is not known
    std::string_view id_word = {};  ///< the protocol's word for it: "cid"
    std::string_view id = {};
    std::string_view kind = {};
    std::string_view kind_text = {};  ///< in the specification's words: "Read"
    std::string_view target = {};
    std::optional<std::uint16_t> queue = {};
    std::optional<std::uint64_t> bytes = {};
    std::string_view block_word = {};  ///< what `first_block` is called: "lba"
    std::optional<std::uint64_t> first_block = {};
    std::optional<std::uint32_t> block_count = {};
    std::optional<std::uint32_t> key = {};
    std::optional<std::uint64_t> data_offset = {};  ///< of data: where the message begins within the command's memory
    std::uint64_t data_bytes = 0;                   ///< of data: bytes of the message
    bool begins = false;                            ///< of data: the message's first packet

    std::uint64_t request_frame = 0;     ///< 0 if unknown
    std::uint64_t data_first_frame = 0;  ///< 0 if unknown
    std::uint64_t response_frame = 0;    ///< 0 if unknown

    std::string_view status = {};
    std::string_view error = {};  ///< class of an error status; empty: success
    std::optional<std::uint16_t> queue_head = {};
    std::optional<CommandParts> parts = {};
    std::optional<std::uint64_t> request_ack_ns = {};
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;

    std::string_view event = {};  ///< what an interim, or a message of no command, is: "pending"
    std::string_view words = {};  ///< what the line of a message of no command adds

    std::uint32_t open = 0;  ///< of a request: the number of open commands, this one included
    std::optional<std::uint32_t> limit = {};
};

/// A message of an upper layer, at the frame that completed it, or that began or ended its data. A SEND may have taken
/// several packets: its layers are described from bytes of their own.
struct UpperMessage {
    const wire::Frame& frame;
    const Dissection& dissection;  ///< no layers if only the facts are new
    base::Bytes bytes;
    const CommandFacts& facts;
};

}  // namespace dissect
