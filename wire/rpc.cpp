#include "wire/rpc.h"

#include <algorithm>
#include <span>

namespace wire {

namespace {

// RFC 1813, 3.3.
constexpr RpcName nfs3_procedures[] = {
    {0, "NULL", "null"},
    {1, "GETATTR", "getattr"},
    {2, "SETATTR", "setattr"},
    {3, "LOOKUP", "lookup"},
    {4, "ACCESS", "access"},
    {5, "READLINK", "readlink"},
    {6, "READ", "read"},
    {7, "WRITE", "write"},
    {8, "CREATE", "create"},
    {9, "MKDIR", "mkdir"},
    {10, "SYMLINK", "symlink"},
    {11, "MKNOD", "mknod"},
    {12, "REMOVE", "remove"},
    {13, "RMDIR", "rmdir"},
    {14, "RENAME", "rename"},
    {15, "LINK", "link"},
    {16, "READDIR", "readdir"},
    {17, "READDIRPLUS", "readdirplus"},
    {18, "FSSTAT", "fsstat"},
    {19, "FSINFO", "fsinfo"},
    {20, "PATHCONF", "pathconf"},
    {21, "COMMIT", "commit"},
};

// RFC 1094, 2.2.
constexpr RpcName nfs2_procedures[] = {
    {0, "NULL", "null"},
    {1, "GETATTR", "getattr"},
    {2, "SETATTR", "setattr"},
    {3, "ROOT", "root"},
    {4, "LOOKUP", "lookup"},
    {5, "READLINK", "readlink"},
    {6, "READ", "read"},
    {7, "WRITECACHE", "writecache"},
    {8, "WRITE", "write"},
    {9, "CREATE", "create"},
    {10, "REMOVE", "remove"},
    {11, "RENAME", "rename"},
    {12, "LINK", "link"},
    {13, "SYMLINK", "symlink"},
    {14, "MKDIR", "mkdir"},
    {15, "RMDIR", "rmdir"},
    {16, "READDIR", "readdir"},
    {17, "STATFS", "statfs"},
};

// RFC 8881, 16.2 and 20.
constexpr RpcName nfs4_procedures[] = {{0, "NULL", "null"}, {1, "COMPOUND", "compound"}};
constexpr RpcName callback_procedures[] = {{0, "CB_NULL", "cb_null"}, {1, "CB_COMPOUND", "cb_compound"}};

constexpr RpcName acl2_procedures[] = {
    {0, "NULL", "acl_null"},
    {1, "GETACL", "acl_getacl"},
    {2, "SETACL", "acl_setacl"},
    {3, "GETATTR", "acl_getattr"},
    {4, "ACCESS", "acl_access"},
    {5, "GETXATTRDIR", "acl_getxattrdir"},
};
constexpr RpcName acl3_procedures[] = {
    {0, "NULL", "acl_null"},
    {1, "GETACL", "acl_getacl"},
    {2, "SETACL", "acl_setacl"},
    {3, "GETXATTRDIR", "acl_getxattrdir"},
};

// RFC 1813, appendix I.
constexpr RpcName mount_procedures[] = {
    {0, "NULL", "mount_null"},
    {1, "MNT", "mount_mnt"},
    {2, "DUMP", "mount_dump"},
    {3, "UMNT", "mount_umnt"},
    {4, "UMNTALL", "mount_umntall"},
    {5, "EXPORT", "mount_export"},
    {6, "EXPORTALL", "mount_exportall"},
};

// RFC 1813, appendix II.
constexpr RpcName lock_procedures[] = {
    {0, "NULL", "nlm_null"},
    {1, "TEST", "nlm_test"},
    {2, "LOCK", "nlm_lock"},
    {3, "CANCEL", "nlm_cancel"},
    {4, "UNLOCK", "nlm_unlock"},
    {5, "GRANTED", "nlm_granted"},
    {6, "TEST_MSG", "nlm_test_msg"},
    {7, "LOCK_MSG", "nlm_lock_msg"},
    {8, "CANCEL_MSG", "nlm_cancel_msg"},
    {9, "UNLOCK_MSG", "nlm_unlock_msg"},
    {10, "GRANTED_MSG", "nlm_granted_msg"},
    {11, "TEST_RES", "nlm_test_res"},
    {12, "LOCK_RES", "nlm_lock_res"},
    {13, "CANCEL_RES", "nlm_cancel_res"},
    {14, "UNLOCK_RES", "nlm_unlock_res"},
    {15, "GRANTED_RES", "nlm_granted_res"},
    {20, "SHARE", "nlm_share"},
    {21, "UNSHARE", "nlm_unshare"},
    {22, "NM_LOCK", "nlm_nm_lock"},
    {23, "FREE_ALL", "nlm_free_all"},
};

constexpr RpcName status_procedures[] = {
    {0, "NULL", "stat_null"},
    {1, "STAT", "stat_stat"},
    {2, "MON", "stat_mon"},
    {3, "UNMON", "stat_unmon"},
    {4, "UNMON_ALL", "stat_unmon_all"},
    {5, "SIMU_CRASH", "stat_simu_crash"},
    {6, "NOTIFY", "stat_notify"},
};

RpcName find_procedure(std::span<const RpcName> known, std::uint32_t number) {
    const auto found =
        std::find_if(known.begin(), known.end(), [number](const RpcName& one) { return one.number == number; });
    return found == known.end() ? RpcName{number, {}, {}} : *found;
}

/// Flavor, length, body. RFC 5531, 8.2; of GSS, RFC 2203, 5.3.1, which service.
std::uint32_t read_credential(XdrReader& xdr) {
    const std::uint32_t flavor = xdr.u32();
    const base::Bytes body = xdr.opaque();
    if (flavor != rpc_auth_gss) return 0;
    XdrReader gss(body);
    gss.skip(12);  // version, procedure, sequence number
    return gss.u32();
}

void parse_call(XdrReader& xdr, RpcHeader& header) {
    header.rpc_version = xdr.u32();
    header.program = xdr.u32();
    header.version = xdr.u32();
    header.has_program = !xdr.ended();
    header.procedure = xdr.u32();
    header.has_procedure = !xdr.ended();
    if (!header.has_procedure) return;
    header.gss_service = read_credential(xdr);
    xdr.skip(4);
    xdr.opaque();
}

/// Only a reply of success has a part of the program.
void parse_reply(XdrReader& xdr, RpcHeader& header) {
    constexpr std::uint32_t auth_error = 1;
    header.denied = xdr.u32() != 0;
    if (header.denied) {
        header.reject_state = xdr.u32();
        if (header.reject_state == auth_error) header.auth_state = xdr.u32();
        header.has_status = !xdr.ended();
        xdr.end();
        return;
    }
    xdr.skip(4);
    xdr.opaque();
    header.accept_state = xdr.u32();
    header.has_status = !xdr.ended();
    if (header.accept_state != 0) xdr.end();
}

}  // namespace

RpcProgram rpc_program(std::uint32_t number) {
    switch (number) {
        case 100003: return RpcProgram::nfs;
        case 100227: return RpcProgram::nfs_acl;
        case 100021: return RpcProgram::lock;
        case 100005: return RpcProgram::mount;
        case 100024: return RpcProgram::status;
        case 1298437: return RpcProgram::gluster;
        default: return number >= 0x40000000 && number < 0x60000000 ? RpcProgram::nfs_callback : RpcProgram::other;
    }
}

RpcHeader parse_rpc(base::Bytes message) {
    RpcHeader header;
    XdrReader xdr(message);
    header.xid = xdr.u32();
    const std::uint32_t type = xdr.u32();
    if (xdr.ended() || type > 1) return header;
    header.has_type = true;
    header.is_call = type == 0;
    if (header.is_call)
        parse_call(xdr, header);
    else
        parse_reply(xdr, header);
    header.has_body = !xdr.ended();
    header.body_at = xdr.offset();
    return header;
}

bool find_gss_body(std::uint32_t gss_service, base::Bytes message, std::uint32_t& at) {
    constexpr std::uint32_t integrity = 2;
    if (gss_service > integrity) return false;
    if (gss_service == integrity) at += 8;
    return at <= message.size();
}

RpcName rpc_procedure_name(RpcProgram program, std::uint32_t version, std::uint32_t procedure) {
    switch (program) {
        case RpcProgram::nfs:
            if (version == 2) return find_procedure(nfs2_procedures, procedure);
            if (version == 3) return find_procedure(nfs3_procedures, procedure);
            return find_procedure(nfs4_procedures, procedure);
        case RpcProgram::nfs_callback: return find_procedure(callback_procedures, procedure);
        case RpcProgram::nfs_acl:
            return version == 2 ? find_procedure(acl2_procedures, procedure)
                                : find_procedure(acl3_procedures, procedure);
        case RpcProgram::lock: return find_procedure(lock_procedures, procedure);
        case RpcProgram::mount: return find_procedure(mount_procedures, procedure);
        case RpcProgram::status: return find_procedure(status_procedures, procedure);
        case RpcProgram::gluster:
        case RpcProgram::other: break;
    }
    return {procedure, {}, {}};
}

std::string_view rpc_heading(RpcProgram program, std::uint32_t version) {
    switch (program) {
        case RpcProgram::nfs: return version == 2 ? "NFSv2" : version == 3 ? "NFSv3" : "NFSv4";
        case RpcProgram::nfs_callback: return "NFSv4";
        case RpcProgram::nfs_acl: return "NFSACL";
        case RpcProgram::lock: return "NLM";
        case RpcProgram::mount: return "MOUNT";
        case RpcProgram::status: return "STAT";
        case RpcProgram::gluster: return "Gluster";
        case RpcProgram::other: break;
    }
    return "RPC";
}

}  // namespace wire
