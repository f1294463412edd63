#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/nfs.h"
#include "wire/xdr.h"

namespace wire {

/// Reads the items of a call or a reply in order, and shows each to the visitor, if there is one.
class NfsItemReader {
public:
    NfsItemReader(const RpcBody& message, base::Bytes bytes, std::uint32_t at, NfsVisitor* visitor)
        : body(message), xdr(bytes, at), visitor_(visitor), reduced_left_(message.reduced_items) {}

    const RpcBody& body;
    XdrReader xdr;
    NfsSummary summary = {};

    std::uint32_t number(NfsField field) {
        const std::uint32_t at = xdr.offset();
        const std::uint32_t value = xdr.u32();
        if (!xdr.ended() && visitor_ != nullptr) visitor_->number(field, value, at, 4);
        return value;
    }
    std::uint64_t wide(NfsField field) {
        const std::uint32_t at = xdr.offset();
        const std::uint64_t value = xdr.u64();
        if (!xdr.ended() && visitor_ != nullptr) visitor_->number(field, value, at, 8);
        return value;
    }
    std::string_view text(NfsField field) {
        const std::uint32_t at = xdr.offset();
        const std::string_view value = text_of(xdr.opaque());
        if (!xdr.ended() && visitor_ != nullptr) visitor_->text(field, value, at);
        return value;
    }
    base::Bytes opaque(NfsField field) {
        const std::uint32_t at = xdr.offset();
        const base::Bytes value = xdr.opaque();
        if (!xdr.ended() && visitor_ != nullptr) visitor_->octets(field, value, at + 4);
        return xdr.ended() ? base::Bytes{} : value;
    }
    base::Bytes fixed(NfsField field, std::uint32_t size) {
        const std::uint32_t at = xdr.offset();
        const base::Bytes value = xdr.fixed(size);
        if (!xdr.ended() && visitor_ != nullptr) visitor_->octets(field, value, at);
        return value;
    }
    void heading(NfsField field, std::uint64_t value, std::string_view text) {
        if (visitor_ != nullptr) visitor_->open(field, value, text, xdr.offset() - 4);
    }
    void close() {
        if (visitor_ != nullptr) visitor_->close();
    }
    void computed(NfsField field, std::uint64_t value, std::uint32_t at, std::uint32_t length) {
        if (visitor_ != nullptr) visitor_->number(field, value, at, length);
    }

    /// Reads a file's handle with its length, and returns the handle's hash.
    std::uint32_t handle() {
        const std::uint32_t at = xdr.offset();
        const base::Bytes value = xdr.opaque();
        if (xdr.ended()) return 0;
        const auto size = static_cast<std::uint32_t>(value.size());
        const std::uint32_t hash = nfs_handle_hash(value);
        if (visitor_ != nullptr) {
            visitor_->number(NfsField::handle_length, size, at, 4);
            visitor_->number(NfsField::handle_hash, hash, at + 4, size);
            visitor_->octets(NfsField::handle, value, at + 4);
        }
        return hash;
    }
    /// Reads a file's handle; the first one is the file that the command is about.
    void target() {
        const std::uint32_t hash = handle();
        if (!xdr.ended() && !summary.handle) summary.handle = hash;
    }

    /// Data of a file. If a chunk has moved the data, the stream contains only its length.
    std::optional<std::uint32_t> data(NfsField field) {
        const std::uint32_t size = number(field);
        if (xdr.ended()) return std::nullopt;
        if (is_reduced(size)) return size;
        summary.inline_bytes += size;
        xdr.opaque_of(size);
        return size;
    }
    void skip_data_text(NfsField field) {
        const std::uint32_t at = xdr.offset();
        const std::uint32_t size = xdr.u32();
        if (xdr.ended() || is_reduced(size)) return;
        const std::string_view value = text_of(xdr.opaque_of(size));
        if (visitor_ != nullptr) visitor_->text(field, value, at);
    }

    /// A value that a chunk may have moved and that is not data of a file.
    void skip_value() {
        const std::uint32_t size = xdr.u32();
        if (!xdr.ended() && !is_reduced(size)) xdr.opaque_of(size);
    }
    void skip_opaque() { xdr.opaque(); }
    void skip_bitmap() { xdr.skip(std::uint64_t{xdr.u32()} * 4); }

private:
    bool is_reduced(std::uint32_t size) {
        if (reduced_left_ == 0 || size == 0) return false;
        // If the call's list names a place, the moved item is the one at that place of the complete stream.
        if (body.reduced_position != 0 && xdr.offset() - body.stream_at != body.reduced_position) return false;
        --reduced_left_;
        return true;
    }
    static std::string_view text_of(base::Bytes bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

    NfsVisitor* visitor_;
    std::uint32_t reduced_left_;
};

/// A call or a reply of NFS 3. RFC 1813, 3.3.
void read_nfs3(NfsItemReader& in);
/// A call or a reply of NFSACL, versions 2 and 3, whose replies have the attributes of NFS 3.
void read_nfs_acl(NfsItemReader& in);
/// A compound of NFS 4.0 to 4.2. RFC 7530, 16; RFC 8881, 18; RFC 7862, 15; RFC 8276, 8.
void read_nfs4(NfsItemReader& in);
/// A compound that a server calls at its client. RFC 8881, 20.
void read_nfs4_callback(NfsItemReader& in);

}  // namespace wire
