#include <algorithm>

#include "wire/nfs.h"

namespace wire {

namespace {

// RFC 8881, 16.2; RFC 7862, 15; RFC 8276, 8.
constexpr RpcName operations[] = {
    {3, "ACCESS", "access"},
    {4, "CLOSE", "close"},
    {5, "COMMIT", "commit"},
    {6, "CREATE", "create"},
    {7, "DELEGPURGE", "delegpurge"},
    {8, "DELEGRETURN", "delegreturn"},
    {9, "GETATTR", "getattr"},
    {10, "GETFH", "getfh"},
    {11, "LINK", "link"},
    {12, "LOCK", "lock"},
    {13, "LOCKT", "lockt"},
    {14, "LOCKU", "locku"},
    {15, "LOOKUP", "lookup"},
    {16, "LOOKUPP", "lookupp"},
    {17, "NVERIFY", "nverify"},
    {18, "OPEN", "open"},
    {19, "OPENATTR", "openattr"},
    {20, "OPEN_CONFIRM", "open_confirm"},
    {21, "OPEN_DOWNGRADE", "open_downgrade"},
    {22, "PUTFH", "putfh"},
    {23, "PUTPUBFH", "putpubfh"},
    {24, "PUTROOTFH", "putrootfh"},
    {25, "READ", "read"},
    {26, "READDIR", "readdir"},
    {27, "READLINK", "readlink"},
    {28, "REMOVE", "remove"},
    {29, "RENAME", "rename"},
    {30, "RENEW", "renew"},
    {31, "RESTOREFH", "restorefh"},
    {32, "SAVEFH", "savefh"},
    {33, "SECINFO", "secinfo"},
    {34, "SETATTR", "setattr"},
    {35, "SETCLIENTID", "setclientid"},
    {36, "SETCLIENTID_CONFIRM", "setclientid_confirm"},
    {37, "VERIFY", "verify"},
    {38, "WRITE", "write"},
    {39, "RELEASE_LOCKOWNER", "release_lockowner"},
    {40, "BACKCHANNEL_CTL", "backchannel_ctl"},
    {41, "BIND_CONN_TO_SESSION", "bind_conn_to_session"},
    {42, "EXCHANGE_ID", "exchange_id"},
    {43, "CREATE_SESSION", "create_session"},
    {44, "DESTROY_SESSION", "destroy_session"},
    {45, "FREE_STATEID", "free_stateid"},
    {46, "GET_DIR_DELEGATION", "get_dir_delegation"},
    {47, "GETDEVINFO", "getdevinfo"},
    {48, "GETDEVLIST", "getdevlist"},
    {49, "LAYOUTCOMMIT", "layoutcommit"},
    {50, "LAYOUTGET", "layoutget"},
    {51, "LAYOUTRETURN", "layoutreturn"},
    {52, "SECINFO_NO_NAME", "secinfo_no_name"},
    {53, "SEQUENCE", "sequence"},
    {54, "SET_SSV", "set_ssv"},
    {55, "TEST_STATEID", "test_stateid"},
    {56, "WANT_DELEG", "want_deleg"},
    {57, "DESTROY_CLIENTID", "destroy_clientid"},
    {58, "RECLAIM_COMPLETE", "reclaim_complete"},
    {59, "ALLOCATE", "allocate"},
    {60, "COPY", "copy"},
    {61, "COPY_NOTIFY", "copy_notify"},
    {62, "DEALLOCATE", "deallocate"},
    {63, "IO_ADVISE", "io_advise"},
    {64, "LAYOUTERROR", "layouterror"},
    {65, "LAYOUTSTATS", "layoutstats"},
    {66, "OFFLOAD_CANCEL", "offload_cancel"},
    {67, "OFFLOAD_STATUS", "offload_status"},
    {68, "READ_PLUS", "read_plus"},
    {69, "SEEK", "seek"},
    {70, "WRITE_SAME", "write_same"},
    {71, "CLONE", "clone"},
    {72, "GETXATTR", "getxattr"},
    {73, "SETXATTR", "setxattr"},
    {74, "LISTXATTRS", "listxattrs"},
    {75, "REMOVEXATTR", "removexattr"},
    {10044, "ILLEGAL", "illegal"},
};

constexpr RpcName callback_operations[] = {
    {3, "CB_GETATTR", "cb_getattr"},
    {4, "CB_RECALL", "cb_recall"},
    {5, "CB_LAYOUTRECALL", "cb_layoutrecall"},
    {6, "CB_NOTIFY", "cb_notify"},
    {7, "CB_PUSH_DELEG", "cb_push_deleg"},
    {8, "CB_RECALL_ANY", "cb_recall_any"},
    {9, "CB_RECALLABLE_OBJ_AVAIL", "cb_recallable_obj_avail"},
    {10, "CB_RECALL_SLOT", "cb_recall_slot"},
    {11, "CB_SEQUENCE", "cb_sequence"},
    {12, "CB_WANTS_CANCELLED", "cb_wants_cancelled"},
    {13, "CB_NOTIFY_LOCK", "cb_notify_lock"},
    {14, "CB_NOTIFY_DEVICEID", "cb_notify_deviceid"},
    {15, "CB_OFFLOAD", "cb_offload"},
    {10044, "CB_ILLEGAL", "cb_illegal"},
};

RpcName find_operation(std::span<const RpcName> known, std::uint32_t number) {
    const auto found =
        std::find_if(known.begin(), known.end(), [number](const RpcName& one) { return one.number == number; });
    return found == known.end() ? RpcName{number, {}, {}} : *found;
}

}  // namespace

RpcName nfs4_operation_name(std::uint32_t operation) { return find_operation(operations, operation); }
RpcName nfs4_callback_name(std::uint32_t operation) { return find_operation(callback_operations, operation); }

}  // namespace wire
