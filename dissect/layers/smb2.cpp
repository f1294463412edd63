#include "wire/smb2.h"

#include <algorithm>
#include <string>

#include "dissect/layer_table.h"
#include "dissect/layers/protocols.h"
#include "dissect/layers/smb2_fields.h"

namespace dissect::inline layers {
namespace {

namespace le = little_endian;
using le::smb2_table;
using wire::Smb2Command;

#define AT(name) (std::integral_constant<std::size_t, smb2_table.find(name)>::value)
#define INFO(name) (smb2_table.infos[AT(name)])

/// A header, and the part of the command after it.
class Smb2View {
public:
    Smb2View(const Tree& header, bool is_response)
        : header_(header),
          body_(header.part(wire::smb2_header_bytes, header.size())),
          entry_(body_, smb2_table),
          is_response_(is_response) {}

    const Tree& body() const { return body_; }
    const Tree& header() const { return header_; }
    const le::Structure<smb2_table.rows.size()>& entry() const { return entry_; }
    bool is_response() const { return is_response_; }

    /// A field of the table that stands elsewhere in the command's part.
    void show_at(std::size_t index, std::uint32_t at, std::uint32_t bytes) const {
        if (at + bytes <= body_.size())
            body_.number(smb2_table.infos[index], wire::load_le(body_.at(at), bytes), at, bytes);
    }
    void show_octets(std::size_t index, std::uint32_t at, std::uint32_t bytes) const {
        body_.octets(smb2_table.infos[index], at, bytes);
    }
    void show_guid(std::size_t index, std::uint32_t at) const {
        constexpr std::uint32_t bytes = 16;
        if (at + bytes > body_.size()) return;
        const std::string text = wire::smb_guid_text(body_.at(at));
        body_.text(smb2_table.infos[index], text, at, bytes);
    }
    void show_time(std::size_t index) const {
        if (!entry_.has(index)) return;
        const std::uint32_t at = smb2_table.rows[index].place.at;
        const std::string text = wire::smb_time_text(wire::load_le64(body_.at(at)));
        body_.text(smb2_table.infos[index], text, at, 8);
    }
    /// A heading with flags below it, at another place than the table's.
    void show_flags_at(std::size_t first, std::size_t last, std::uint32_t at) const {
        const std::uint32_t bytes = smb2_table.rows[first].place.bytes;
        if (at + bytes > body_.size()) return;
        const Tree part = body_.part(at, bytes);
        le::Structure{part, smb2_table}.show_below(first, last);
    }
    /// Offset and length of what lies elsewhere; places count from the header.
    wire::Smb2Range show_range(std::uint32_t at, std::uint32_t bytes) const {
        show_at(AT("smb2.olb.offset"), at, bytes);
        show_at(AT("smb2.olb.length"), at + bytes, bytes);
        return read_range(at, bytes);
    }
    wire::Smb2Range read_range(std::uint32_t at, std::uint32_t bytes) const {
        if (at + 2 * bytes > body_.size()) return {};
        return {static_cast<std::uint32_t>(wire::load_le(body_.at(at), bytes)),
                static_cast<std::uint32_t>(wire::load_le(body_.at(at + bytes), bytes))};
    }
    /// Whether all of the range was captured.
    bool has(wire::Smb2Range range) const { return std::uint64_t{range.offset} + range.length <= header_.size(); }
    void show_blob(std::size_t index, wire::Smb2Range range) const {
        if (range.length != 0 && has(range)) header_.octets(smb2_table.infos[index], range.offset, range.length);
    }
    void show_name(std::size_t index, wire::Smb2Range range) const {
        if (range.length == 0 || !has(range)) return;
        constexpr std::size_t most = 2048;
        const std::string text = wire::smb_text(header_.octets().subspan(range.offset, range.length), most);
        header_.text(smb2_table.infos[index], text, range.offset, range.length);
    }

private:
    const Tree& header_;
    Tree body_;
    le::Structure<smb2_table.rows.size()> entry_;
    bool is_response_;
};

// ---- negotiation ----

/// Numbers of two bytes each.
void describe_list(const Tree& tree, std::size_t index, std::uint32_t at, std::uint32_t count) {
    for (const std::uint32_t end = at + 2 * count; at < end && at + 2 <= tree.size(); at += 2)
        tree.number(smb2_table.infos[index], wire::load_le16(tree.at(at)), at, 2);
}

/// 2.2.3.1: the header of a context takes eight bytes.
void describe_context(const Tree& tree) {
    const le::Structure entry{tree, smb2_table};
    constexpr std::uint32_t data_at = 8;
    entry.show(AT("smb2.negotiate_context.type"));
    entry.show(AT("smb2.negotiate_context.data_length"));
    if (tree.size() < data_at + 2) return;
    tree.octets(INFO("smb2.reserved"), 4, 4);
    const std::uint32_t count = wire::load_le16(tree.at(data_at));
    switch (wire::load_le16(tree.at(0))) {
        case 0x0001: {
            entry.show(AT("smb2.negotiate_context.hash_alg_count"));
            entry.show(AT("smb2.negotiate_context.salt_length"));
            if (tree.size() < data_at + 4) return;
            describe_list(tree, AT("smb2.negotiate_context.hash_algorithm"), data_at + 4, count);
            const std::uint32_t salt_at = data_at + 4 + 2 * count;
            tree.octets(INFO("smb2.negotiate_context.salt"), salt_at, wire::load_le16(tree.at(data_at + 2)));
            return;
        }
        case 0x0002:
            entry.show(AT("smb2.negotiate_context.cipher_count"));
            return describe_list(tree, AT("smb2.negotiate_context.cipher_id"), data_at + 2, count);
        case 0x0005: {
            const std::string text = wire::smb_text(tree.octets().subspan(data_at), 512);
            return tree.text(INFO("smb2.negotiate_context.netname"), text, data_at, tree.size() - data_at);
        }
        case 0x0100: return tree.octets(INFO("smb2.negotiate_context.posix_reserved"), data_at, tree.size() - data_at);
        default: return;
    }
}

void describe_contexts(const Smb2View& view, std::uint64_t at, std::uint32_t count) {
    constexpr std::uint32_t header_bytes = 8, most = 64;
    for (std::uint32_t i = 0; i < std::min(count, most); ++i) {
        if (at + header_bytes > view.header().size()) return;
        const auto first = static_cast<std::uint32_t>(at);
        const std::uint32_t length = header_bytes + wire::load_le16(view.header().at(first + 2));
        if (at + length > view.header().size()) return;
        describe_context(view.header().part(first, length));
        at += (length + 7) & ~7u;
    }
}

constexpr std::uint16_t dialect_with_contexts = 0x0311;

void describe_security(const Smb2View& view, std::uint32_t mode_at, std::uint32_t capabilities_at) {
    view.show_flags_at(AT("smb2.sec_mode"), AT("smb2.sec_mode.sign_required"), mode_at);
    view.show_flags_at(AT("smb2.capabilities"), AT("smb2.capabilities.encryption"), capabilities_at);
}

void describe_negotiate(const Smb2View& view) {
    const Tree& body = view.body();
    if (view.is_response()) {
        view.show_flags_at(AT("smb2.sec_mode"), AT("smb2.sec_mode.sign_required"), 2);
        view.show_at(AT("smb2.dialect"), 4, 2);
        if (body.size() < 64) return;
        const bool has_contexts = wire::load_le16(body.at(4)) == dialect_with_contexts;
        view.show_at(AT("smb2.negotiate_context.count"), 6, 2);
        view.show_guid(AT("smb2.server_guid"), 8);
        view.show_flags_at(AT("smb2.capabilities"), AT("smb2.capabilities.encryption"), 24);
        view.entry().show_all(AT("smb2.max_trans_size"), AT("smb2.max_write_size"));
        view.show_time(AT("smb2.current_time"));
        view.show_time(AT("smb2.boot_time"));
        view.show_blob(AT("smb2.security_blob"), view.show_range(56, 2));
        view.show_at(AT("smb2.negotiate_context.offset"), 60, 4);
        if (!has_contexts) return;
        return describe_contexts(view, wire::load_le32(body.at(60)), wire::load_le16(body.at(6)));
    }
    view.entry().show(AT("smb2.dialect_count"));
    if (body.size() < 36) return;
    const std::uint32_t dialects = wire::load_le16(body.at(2));
    constexpr std::uint32_t dialects_at = 36;
    bool has_contexts = false;
    for (std::uint32_t at = dialects_at; at < dialects_at + 2 * dialects && at + 2 <= body.size(); at += 2)
        has_contexts = has_contexts || wire::load_le16(body.at(at)) == dialect_with_contexts;
    view.show_flags_at(AT("smb2.sec_mode"), AT("smb2.sec_mode.sign_required"), 4);
    view.show_octets(AT("smb2.reserved"), 6, 2);
    view.show_flags_at(AT("smb2.capabilities"), AT("smb2.capabilities.encryption"), 8);
    view.show_guid(AT("smb2.client_guid"), 12);
    view.show_at(AT("smb2.negotiate_context.offset"), 28, 4);
    view.show_at(AT("smb2.negotiate_context.count"), 32, 2);
    view.show_octets(AT("smb2.reserved"), 34, 2);
    describe_list(body, AT("smb2.dialect"), dialects_at, dialects);
    if (has_contexts) describe_contexts(view, wire::load_le32(body.at(28)), wire::load_le16(body.at(32)));
}

void describe_session_setup(const Smb2View& view) {
    if (view.is_response()) {
        view.entry().show_below(AT("smb2.session_flags"), AT("smb2.ses_flags.encrypt"));
        return view.show_blob(AT("smb2.security_blob"), view.show_range(4, 2));
    }
    view.entry().show_below(AT("smb2.ses_req_flags"), AT("smb2.ses_req_flags.session_binding"));
    describe_security(view, 3, 4);
    view.show_at(AT("smb2.channel"), 8, 4);
    view.entry().show(AT("smb2.previous_sesid"));
    view.show_blob(AT("smb2.security_blob"), view.show_range(12, 2));
}

// ---- trees and files ----

void describe_tree_connect(const Smb2View& view) {
    if (!view.is_response()) {
        view.entry().show_below(AT("smb2.tc.flags"), AT("smb2.tc.reserved"));
        return view.show_name(AT("smb2.tree"), view.show_range(4, 2));
    }
    view.entry().show(AT("smb2.share_type"));
    if (view.body().size() < 16) return;
    view.show_octets(AT("smb2.reserved"), 3, 1);
    view.entry().show_below(AT("smb2.share_flags"), AT("smb2.share_flags.encrypt_data"));
    view.entry().show_below(AT("smb2.share_caps"), AT("smb2.share_caps.continuous_availability"));
}

void describe_times(const Smb2View& view) {
    view.show_time(AT("smb2.create.time"));
    view.show_time(AT("smb2.last_access.time"));
    view.show_time(AT("smb2.last_write.time"));
    view.show_time(AT("smb2.last_change.time"));
    view.entry().show(AT("smb2.allocation_size"));
    view.entry().show(AT("smb2.eof"));
}

void describe_create(const Smb2View& view) {
    if (view.is_response()) {
        view.show_at(AT("smb2.create.oplock"), 2, 1);
        view.entry().show_below(AT("smb2.create.rep_flags"), AT("smb2.create.rep_flags.reparse_point"));
        view.entry().show(AT("smb2.create.action"));
        describe_times(view);
        view.show_octets(AT("smb2.reserved"), 60, 4);
        view.show_guid(AT("smb2.fid"), 64);
        view.show_range(80, 4);
        return;
    }
    view.show_at(AT("smb2.create.oplock"), 3, 1);
    view.entry().show(AT("smb2.impersonation.level"));
    view.entry().show(AT("smb2.create_flags"));
    view.show_octets(AT("smb2.reserved"), 16, 8);
    view.entry().show(AT("smb2.create.disposition"));
    view.show_name(AT("smb2.filename"), view.show_range(44, 2));
    view.show_range(48, 4);
}

void describe_close(const Smb2View& view) {
    view.entry().show_below(AT("smb2.close.flags"), AT("smb2.close.pq_attrib"));
    if (!view.is_response()) return view.show_guid(AT("smb2.fid"), 8);
    view.show_octets(AT("smb2.reserved"), 4, 4);
    describe_times(view);
}

void describe_flush(const Smb2View& view) {
    if (view.is_response()) return view.show_octets(AT("smb2.reserved"), 2, 2);
    view.show_octets(AT("smb2.reserved"), 2, 6);
    view.show_guid(AT("smb2.fid"), 8);
}

// ---- data ----

void describe_descriptors(const Smb2View& view, const wire::Smb2Transfer& transfer) {
    if (!transfer.is_rdma() || !view.has(transfer.descriptors)) return;
    const std::uint32_t end = transfer.descriptors.offset + transfer.descriptors.length;
    for (std::uint32_t at = transfer.descriptors.offset; at + wire::smb_descriptor_bytes <= end;
         at += wire::smb_descriptor_bytes) {
        const Tree descriptor = view.header().part(at, wire::smb_descriptor_bytes);
        le::Structure{descriptor, smb2_table}.show_all(AT("smb2.buffer_descriptor.offset"),
                                                       AT("smb2.buffer_descriptor.length"));
    }
}

void describe_channel(const Smb2View& view, std::uint32_t at, std::uint32_t info_at,
                      const std::optional<wire::Smb2Transfer>& transfer) {
    view.show_at(AT("smb2.channel"), at, 4);
    view.show_at(AT("smb2.remaining_bytes"), at + 4, 4);
    view.show_range(info_at, 2);
    if (transfer) describe_descriptors(view, *transfer);
}

void describe_read(const Smb2View& view) {
    if (view.is_response()) {
        view.show_at(AT("smb2.olb.offset"), 2, 1);
        view.show_at(AT("smb2.olb.length"), 4, 4);
        view.entry().show(AT("smb2.read_remaining"));
        if (view.body().size() < 16) return;
        view.show_octets(AT("smb2.reserved"), 12, 4);
        view.show_octets(AT("smb2.reserved"), 3, 1);
        const wire::Smb2Range data{base::load_u8(view.body().at(2)), wire::load_le32(view.body().at(4))};
        return view.show_blob(AT("smb2.read_data"), data);
    }
    view.entry().show(AT("smb2.read_padding"));
    view.entry().show_below(AT("smb2.read_flags"), AT("smb2.read_flags.compressed"));
    view.entry().show(AT("smb2.read_length"));
    view.entry().show(AT("smb2.file_offset"));
    view.show_guid(AT("smb2.fid"), 16);
    view.entry().show(AT("smb2.min_count"));
    describe_channel(view, 36, 44, wire::parse_smb2_read(view.header().octets()));
}

void describe_write(const Smb2View& view) {
    if (view.is_response()) {
        view.show_octets(AT("smb2.reserved"), 2, 2);
        view.entry().show(AT("smb2.write.count"));
        view.entry().show(AT("smb2.write.remaining"));
        view.show_at(AT("smb2.channel_info_offset"), 12, 2);
        view.show_at(AT("smb2.channel_info_length"), 14, 2);
        return;
    }
    view.entry().show(AT("smb2.data_offset"));
    view.entry().show(AT("smb2.write_length"));
    view.entry().show(AT("smb2.file_offset"));
    view.show_guid(AT("smb2.fid"), 16);
    const std::optional<wire::Smb2Transfer> transfer = wire::parse_smb2_write(view.header().octets());
    describe_channel(view, 32, 40, transfer);
    view.entry().show_below(AT("smb2.write.flags"), AT("smb2.write.flags.unbuffered"));
    if (transfer) view.show_blob(AT("smb2.write_data"), {wire::load_le16(view.body().at(2)), transfer->length});
}

// ---- all ----

/// The first of the ranges. 2.2.26.
void describe_lock(const Smb2View& view) {
    view.show_at(AT("smb2.lock_count"), 2, 2);
    view.show_octets(AT("smb2.reserved"), 4, 4);
    view.show_guid(AT("smb2.fid"), 8);
    view.show_at(AT("smb2.file_offset"), 24, 8);
    view.entry().show(AT("smb2.lock_length"));
    view.entry().show_below(AT("smb2.lock_flags"), AT("smb2.lock_flags.fail_immediately"));
    view.show_octets(AT("smb2.reserved"), 44, 4);
}

void describe_command_part(const Smb2View& view, std::uint16_t command) {
    switch (static_cast<Smb2Command>(command)) {
        case Smb2Command::negotiate: return describe_negotiate(view);
        case Smb2Command::session_setup: return describe_session_setup(view);
        case Smb2Command::tree_connect: return describe_tree_connect(view);
        case Smb2Command::create: return describe_create(view);
        case Smb2Command::close: return describe_close(view);
        case Smb2Command::flush: return describe_flush(view);
        case Smb2Command::read: return describe_read(view);
        case Smb2Command::write: return describe_write(view);
        case Smb2Command::logoff:
            if (view.is_response()) view.show_octets(AT("smb2.reserved"), 2, 2);
            return;
        case Smb2Command::oplock_break:
            view.show_at(AT("smb2.create.oplock"), 2, 1);
            view.show_octets(AT("smb2.reserved"), 3, 1);
            view.show_octets(AT("smb2.reserved"), 4, 4);
            return view.show_guid(AT("smb2.fid"), 8);
        default: break;
    }
    if (view.is_response()) return;
    switch (static_cast<Smb2Command>(command)) {
        case Smb2Command::ioctl: view.entry().show(AT("smb2.ioctl.function")); return view.show_guid(AT("smb2.fid"), 8);
        case Smb2Command::query_directory:
            view.entry().show(AT("smb2.find.infolevel"));
            return view.show_guid(AT("smb2.fid"), 8);
        case Smb2Command::query_info:
        case Smb2Command::set_info:
            view.entry().show(AT("smb2.class"));
            view.entry().show(AT("smb2.infolevel"));
            return view.show_guid(AT("smb2.fid"),
                                  static_cast<Smb2Command>(command) == Smb2Command::query_info ? 24 : 16);
        case Smb2Command::lock: return describe_lock(view);
        case Smb2Command::change_notify: return view.show_guid(AT("smb2.fid"), 8);
        default: return;
    }
}

/// Whether a response has the form of an error. 2.2.2.
bool is_error(std::uint16_t command, std::uint32_t status) {
    constexpr std::uint32_t more_processing = 0xc0000016, buffer_overflow = 0x80000005, notify_enum_dir = 0x0000010c,
                            notify_cleanup = 0x0000010b;
    if (status == 0 || status == notify_enum_dir || status == notify_cleanup) return false;
    if (status == more_processing) return static_cast<Smb2Command>(command) != Smb2Command::session_setup;
    return status != buffer_overflow;
}

void describe_error(const Smb2View& view) {
    view.entry().show(AT("smb2.error.context_count"));
    view.entry().show(AT("smb2.error.reserved"));
    view.entry().show(AT("smb2.error.byte_count"));
    constexpr std::uint32_t data_at = 8;
    const std::uint32_t size = view.body().size();
    if (size <= data_at) return;
    // A byte stands for no data.
    const std::uint32_t length = std::max(wire::load_le32(view.body().at(4)), 1u);
    if (length <= size - data_at) view.show_octets(AT("smb2.error.data"), data_at, length);
}

void show_protocol(const Tree& tree) {
    if (tree.size() >= 4) tree.number(INFO("smb2.protocol_id"), base::load_be32(tree.at(0)), 0, 4);
}

void describe_transform(const Tree& tree) {
    const le::Structure header{tree, smb2_table};
    show_protocol(tree);
    header.show_all(AT("smb2.header.transform.signature"), AT("smb2.header.transform.reserved"));
    header.show_below(AT("smb2.header.transform.flags"), AT("smb2.header.transform.flags.encrypted"));
    constexpr std::uint32_t session_at = 44;
    if (tree.size() < wire::smb2_transform_bytes) return;
    tree.number(INFO("smb2.sesid"), wire::load_le64(tree.at(session_at)), session_at, 8);
    if (tree.size() > wire::smb2_transform_bytes)
        tree.octets(INFO("smb2.header.transform.enc_data"), wire::smb2_transform_bytes,
                    tree.size() - wire::smb2_transform_bytes);
}

void describe_plain_header(const Tree& tree, const le::Structure<smb2_table.rows.size()>& header, bool is_response,
                           bool is_async) {
    show_protocol(tree);
    header.show(AT("smb2.header_len"));
    header.show(AT("smb2.credit.charge"));
    if (is_response) {
        header.show(AT("smb2.nt_status"));
    } else {
        header.show(AT("smb2.channel_sequence"));
        header.show(AT("smb2.reserved"));
    }
    header.show(AT("smb2.cmd"));
    header.show(is_response ? AT("smb2.credits.granted") : AT("smb2.credits.requested"));
    header.show_below(AT("smb2.flags"), AT("smb2.flags.replay"));
    header.show(AT("smb2.chain_offset"));
    header.show(AT("smb2.msg_id"));
    if (is_async) {
        header.show(AT("smb2.aid"));
    } else {
        header.show(AT("smb2.pid"));
        header.show(AT("smb2.tid"));
    }
    header.show(AT("smb2.sesid"));
    header.show(AT("smb2.signature"));
}

void describe_smb2(const LayerView& layer, Visitor& visitor) {
    const Tree tree{layer, visitor};
    const le::Structure header{tree, smb2_table};
    switch (wire::smb_header_of(tree.octets())) {
        case wire::SmbHeader::none: return;
        case wire::SmbHeader::encrypted: return describe_transform(tree);
        case wire::SmbHeader::compressed:
            show_protocol(tree);
            return header.show_all(AT("smb2.header.comp_transform.original_size"),
                                   AT("smb2.header.comp_transform.offset"));
        case wire::SmbHeader::plain: break;
    }
    const std::uint32_t flags = header.has(AT("smb2.flags")) ? wire::load_le32(tree.at(16)) : 0u;
    const bool is_response = (flags & wire::Smb2Header::response_flag) != 0;
    describe_plain_header(tree, header, is_response, (flags & wire::Smb2Header::async_flag) != 0);
    if (tree.size() < wire::smb2_header_bytes + 2) return;
    const Smb2View view{tree, is_response};
    view.entry().show_below(AT("smb2.buffer_code"), AT("smb2.buffer_code.dynamic"));
    const std::uint16_t command = wire::load_le16(tree.at(12));
    if (is_response && is_error(command, wire::load_le32(tree.at(8)))) return describe_error(view);
    describe_command_part(view, command);
}

#undef INFO
#undef AT

/// One header with what belongs to it; another may follow. 2.2.1.
LayerId parse_smb2_layer(Context& context) {
    const std::uint32_t captured = context.available();
    const std::uint32_t size = context.remaining();
    if (captured < 4) return context.stop_short(LayerId::smb2, wire::smb2_header_bytes);
    const base::Bytes rest = context.bytes().subspan(context.offset, captured);
    if (wire::smb_header_of(rest) == wire::SmbHeader::none)
        return context.stop(Outcome::malformed, Reason::wrong_length, LayerId::smb2, context.offset, size);
    const std::optional<wire::Smb2Header> header = wire::parse_smb2(rest);
    const std::uint32_t next = header ? header->next_command : 0;
    if (next == 0) {
        context.record(LayerId::smb2, context.offset, captured, size);
        const std::uint32_t least = wire::smb_header_of(rest) == wire::SmbHeader::plain ? wire::smb2_header_bytes
                                    : wire::smb_header_of(rest) == wire::SmbHeader::encrypted
                                        ? wire::smb2_transform_bytes
                                        : wire::smb2_compression_bytes;
        if (captured < least) return context.stop_short(LayerId::smb2, least);
        context.offset += captured;
        return LayerId::none;
    }
    if (next < wire::smb2_header_bytes || next > size)
        return context.stop(Outcome::malformed, Reason::wrong_length, LayerId::smb2, context.offset, next);
    context.record(LayerId::smb2, context.offset, std::min(captured, next), next);
    if (captured < next) return context.stop_short(LayerId::smb2, next);
    context.offset += next;
    return LayerId::smb2;
}

}  // namespace

constinit const LayerRow smb2_layer{"smb2", &protocol::smb2, {}, parse_smb2_layer, describe_smb2, {}, smb2_table.infos};

}  // namespace dissect::layers
