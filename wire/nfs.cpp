#include "wire/nfs.h"

#include "wire/crc_library.h"
#include "wire/nfs_items.h"

namespace wire {

namespace {

using Item = NfsField;

void read_mount(NfsItemReader& in) {
    constexpr std::uint32_t mount = 1, unmount = 3;
    if (in.body.is_call) {
        if (in.body.procedure == mount || in.body.procedure == unmount) in.summary.path = in.text(Item::mount_path);
        return;
    }
    if (in.body.procedure != mount) return;
    const std::uint32_t status = in.number(Item::mount_status);
    if (in.xdr.ended()) return;
    in.summary.status = status;
    if (status == 0 && in.body.version == 3) in.handle();
}

/// The network lock manager, version 4. RFC 1813, appendix II.
void read_lock(NfsItemReader& in) {
    constexpr std::uint32_t test = 1, lock = 2, cancel = 3, unlock = 4, granted = 5;
    const std::uint32_t procedure = in.body.procedure;
    if (procedure == 0 || in.body.version != 4 || procedure > granted) return;
    in.opaque(Item::lock_cookie);
    if (!in.body.is_call) {
        const std::uint32_t status = in.number(Item::lock_status);
        if (!in.xdr.ended()) in.summary.status = status;
        return;
    }
    if (procedure == lock || procedure == cancel) in.number(Item::lock_block);
    if (procedure == test || procedure != unlock) in.number(Item::lock_exclusive);
    in.text(Item::lock_caller);
    in.target();
    in.opaque(Item::nlm_owner);
    in.number(Item::lock_process);
    const std::uint64_t offset = in.wide(Item::lock_offset);
    in.wide(Item::lock_length);
    if (!in.xdr.ended()) in.summary.offset = offset;
    if (procedure != lock) return;
    in.number(Item::lock_reclaim);
    in.number(Item::lock_state);
}

/// The procedure, as a number that does not stand in the bytes.
void show_procedure(NfsItemReader& in, Item field) { in.computed(field, in.body.procedure, in.xdr.offset(), 0); }

void read_nfs(NfsItemReader& in) {
    switch (in.body.version) {
        case 3: show_procedure(in, Item::procedure3); return read_nfs3(in);
        case 4:
            show_procedure(in, Item::procedure4);
            if (in.body.procedure == 1) read_nfs4(in);
            return;
        default: show_procedure(in, Item::procedure2);
    }
}

}  // namespace

std::uint32_t nfs_handle_hash(base::Bytes handle) { return detail::library_crc32(0, handle); }

NfsSummary read_rpc_body(const RpcBody& body, base::Bytes bytes, std::uint32_t at, NfsVisitor* visitor) {
    NfsItemReader in(body, bytes, at, visitor);
    switch (body.program) {
        case RpcProgram::nfs: read_nfs(in); break;
        case RpcProgram::nfs_callback: {
            show_procedure(in, Item::callback_procedure);
            if (body.procedure == 1) read_nfs4_callback(in);
            break;
        }
        case RpcProgram::nfs_acl:
            show_procedure(in, body.version == 2 ? Item::acl_procedure2 : Item::acl_procedure3);
            read_nfs_acl(in);
            break;
        case RpcProgram::mount:
            show_procedure(in, body.version == 3 ? Item::mount_procedure3 : Item::mount_procedure1);
            read_mount(in);
            break;
        case RpcProgram::lock:
            if (body.version == 4) show_procedure(in, Item::lock_procedure4);
            read_lock(in);
            break;
        case RpcProgram::status: show_procedure(in, Item::status_procedure1); break;
        case RpcProgram::gluster:
        case RpcProgram::other: break;
    }
    return in.summary;
}

}  // namespace wire
