#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "wire/field.h"
#include "wire/nfs_names.h"
#include "wire/rpc.h"

/// NFS 3 (RFC 1813), 4.0 to 4.2 (RFC 7530, 8881, 7862, 8276) and the protocols next to it. Calls and replies are read
/// item by item, because no item has a fixed place.
namespace wire {

// clang-format off
/// X(identifier, Wireshark's name, label, kind, base, values): the fields that are read.
#define RDMASCOPE_NFS_FIELDS(X)                                                                                        \
    X(procedure2, "nfs.procedure_v2", "V2 Procedure", uint32, dec, {})                                                 \
    X(procedure3, "nfs.procedure_v3", "V3 Procedure", uint32, dec, wire::nfs3_procedure_names)                         \
    X(procedure4, "nfs.procedure_v4", "V4 Procedure", uint32, dec, wire::nfs4_procedure_names)                         \
    X(callback_procedure, "nfs.cb_procedure", "CB Procedure", uint32, dec, wire::nfs4_callback_procedure_names)        \
    X(status2, "nfs.status2", "Status", uint32, dec, wire::nfs3_status_names)                                          \
    X(status3, "nfs.status3", "Status", uint32, dec, wire::nfs3_status_names)                                          \
    X(status4, "nfs.nfsstat4", "Status", uint32, dec, wire::nfs4_status_names)                                         \
    X(tag, "nfs.tag", "Tag", string, dec, {})                                                                          \
    X(minor_version, "nfs.minorversion", "minorversion", uint32, dec, {})                                              \
    X(operation_count, "nfs.ops.count", "Operations", uint32, dec, {})                                                 \
    X(operation, "nfs.opcode", "Opcode", uint32, dec, wire::nfs4_operation_names)                                      \
    X(main_operation, "nfs.main_opcode", "Main Opcode", uint32, dec, wire::nfs4_operation_names)                       \
    X(callback_operation, "nfs.cb.operation", "Opcode", uint32, dec, wire::nfs4_callback_names)                        \
    X(session, "nfs.session_id4", "sessionid", bytes, dec, {})                                                         \
    X(sequence, "nfs.seqid", "seqid", uint32, hex, {})                                                                 \
    X(slot, "nfs.slotid", "slot id", uint32, dec, {})                                                                  \
    X(high_slot, "nfs.high_slotid", "high slot id", uint32, dec, {})                                                   \
    X(target_high_slot, "nfs.target_high_slotid", "target high slot id", uint32, dec, {})                              \
    X(cache_this, "nfs.cachethis4", "cache this?", boolean, dec, {})                                                   \
    X(sequence_flags, "nfs.sequence.flags", "status flags", uint32, hex, {})                                           \
    X(handle_length, "nfs.fh.length", "length", uint32, dec, {})                                                       \
    X(handle_hash, "nfs.fh.hash", "hash (CRC-32)", uint32, hex, {})                                                    \
    X(handle, "nfs.fhandle", "FileHandle", bytes, dec, {})                                                             \
    X(state_sequence, "nfs.stateid.seqid", "StateID seqid", uint32, dec, {})                                           \
    X(state_other, "nfs.stateid.other", "StateID Other", bytes, dec, {})                                               \
    X(state_other_hash, "nfs.stateid.other_hash", "StateID Other hash", uint32, hex, {})                               \
    X(offset3, "nfs.offset3", "offset", uint64, dec, {})                                                               \
    X(count3, "nfs.count3", "count", uint32, dec, {})                                                                  \
    X(offset4, "nfs.offset4", "offset", uint64, dec, {})                                                               \
    X(count4, "nfs.count4", "count", uint32, dec, {})                                                                  \
    X(length4, "nfs.length4", "length", uint64, dec, {})                                                               \
    X(stable3, "nfs.write.stable", "Stable", uint32, dec, wire::nfs_stable_names)                                      \
    X(committed3, "nfs.write.committed", "Committed", uint32, dec, wire::nfs_stable_names)                             \
    X(stable4, "nfs.stable_how4", "stable_how4", uint32, dec, wire::nfs4_stable_names)                                 \
    X(eof3, "nfs.read.eof", "EOF", boolean, dec, {})                                                                   \
    X(eof4, "nfs.eof", "eof", uint32, dec, {})                                                                         \
    X(read_length, "nfs.read.data_length", "Read length", uint32, dec, {})                                             \
    X(write_length, "nfs.write.data_length", "Write length", uint32, dec, {})                                          \
    X(verifier3, "nfs.verifier", "Verifier", bytes, dec, {})                                                           \
    X(verifier4, "nfs.verifier4", "verifier", uint64, hex, {})                                                         \
    X(cookie3, "nfs.cookie3", "cookie", uint64, dec, {})                                                               \
    X(directory_count3, "nfs.count3_dircount", "dircount", uint32, dec, {})                                            \
    X(most_count3, "nfs.count3_maxcount", "maxcount", uint32, dec, {})                                                 \
    X(cookie4, "nfs.cookie4", "cookie", uint64, dec, {})                                                               \
    X(cookie_verifier4, "nfs.cookie_verf4", "cookie_verf", uint64, dec, {})                                            \
    X(directory_count4, "nfs.dircount", "dircount", uint32, dec, {})                                                   \
    X(most_count4, "nfs.maxcount", "maxcount", uint32, dec, {})                                                        \
    X(name, "nfs.name", "Name", string, dec, {})                                                                       \
    X(component, "nfs.pathname.component", "Name", string, dec, {})                                                    \
    X(link_target, "nfs.symlink.to", "To", string, dec, {})                                                            \
    X(link_text, "nfs.symlink.linktext", "Link Contents", string, dec, {})                                             \
    X(file_type3, "nfs.fattr3.type", "Type", uint32, dec, wire::nfs3_file_types)                                       \
    X(mode3, "nfs.mode3", "Mode", uint32, hex, {})                                                                     \
    X(links3, "nfs.fattr3.nlink", "nlink", uint32, dec, {})                                                            \
    X(user3, "nfs.fattr3.uid", "uid", uint32, dec, {})                                                                 \
    X(group3, "nfs.fattr3.gid", "gid", uint32, dec, {})                                                                \
    X(size3, "nfs.fattr3.size", "size", uint64, dec, {})                                                               \
    X(used3, "nfs.fattr3.used", "used", uint64, dec, {})                                                               \
    X(file_system3, "nfs.fattr3.fsid", "fsid", uint64, hex, {})                                                        \
    X(file_id3, "nfs.fattr3.fileid", "fileid", uint64, dec, {})                                                        \
    X(client, "nfs.clientid", "clientid", uint64, hex, {})                                                             \
    X(share_access, "nfs.open4.share_access", "share_access", uint32, dec, wire::nfs4_share_access_names)              \
    X(share_deny, "nfs.open4.share_deny", "share_deny", uint32, dec, wire::nfs4_share_deny_names)                      \
    X(open_owner, "nfs.open_owner4", "owner", bytes, dec, {})                                                          \
    X(lock_owner, "nfs.lock_owner4", "owner", bytes, dec, {})                                                          \
    X(open_type, "nfs.open.opentype", "Open Type", uint32, dec, wire::nfs4_open_types)                                 \
    X(create_mode, "nfs.createmode4", "Create Mode", uint32, dec, wire::nfs4_create_modes)                             \
    X(claim_type, "nfs.open.claim_type", "Claim Type", uint32, dec, wire::nfs4_claim_types)                            \
    X(delegation_type, "nfs.open.delegation_type", "Delegation Type", uint32, dec, wire::nfs4_delegation_types)        \
    X(open_flags, "nfs.open_rflags", "result flags", uint32, hex, {})                                                  \
    X(recall, "nfs.recall4", "recall", boolean, dec, {})                                                               \
    X(change_atomic, "nfs.change_info.atomic", "Atomic", boolean, dec, {})                                             \
    X(change_before, "nfs.changeid4.before", "changeid (before)", uint64, dec, {})                                     \
    X(change_after, "nfs.changeid4.after", "changeid (after)", uint64, dec, {})                                        \
    X(access_check, "nfs.access_check", "Check access", uint8, hex, {})                                                \
    X(access_supported, "nfs.access_supported", "Supported types (of requested)", uint8, hex, {})                      \
    X(access_rights, "nfs.access_rights", "Access rights (of requested)", uint8, hex, {})                              \
    X(lock_type, "nfs.locktype4", "locktype", uint32, dec, wire::nfs4_lock_types)                                      \
    X(attribute_name, "nfs.xattr.key", "Name", string, dec, {})                                                        \
    X(reclaim_one, "nfs.reclaim_one_fs4", "reclaim one fs?", boolean, dec, {})                                         \
    X(exchange_flags, "nfs.exchange_id.call_flags", "flags", uint32, hex, {})                                          \
    X(exchanged_flags, "nfs.exchange_id.reply_flags", "flags", uint32, hex, {})                                        \
    X(server_minor, "nfs.minorid4", "minor ID", uint64, dec, {})                                                       \
    X(server_major, "nfs.majorid4", "major ID", bytes, dec, {})                                                        \
    X(scope, "nfs.scope", "server scope", bytes, dec, {})                                                              \
    X(session_flags, "nfs.create_session_flags", "csa_flags", uint32, hex, {})                                         \
    X(callback_program, "nfs.cb_program", "cb_program", uint32, hex, {})                                               \
    X(most_operations, "nfs.maxops4", "max ops", uint32, dec, {})                                                      \
    X(most_requests, "nfs.maxreqs4", "max reqs", uint32, dec, {})                                                      \
    X(acl_procedure2, "nfsacl.procedure_v2", "V2 Procedure", uint32, dec, wire::acl2_procedure_names)                  \
    X(acl_procedure3, "nfsacl.procedure_v3", "V3 Procedure", uint32, dec, wire::acl3_procedure_names)                  \
    X(acl_mask, "nfsacl.mask", "Mask", uint32, hex, {})                                                                \
    X(mount_procedure1, "mount.procedure_v1", "V1 Procedure", uint32, dec, wire::mount_procedure_names)                \
    X(mount_procedure3, "mount.procedure_v3", "V3 Procedure", uint32, dec, wire::mount_procedure_names)                \
    X(mount_path, "mount.path", "Path", string, dec, {})                                                               \
    X(mount_status, "mount.status", "Status", uint32, dec, wire::mount_status_names)                                   \
    X(lock_procedure4, "nlm.procedure_v4", "V4 Procedure", uint32, dec, wire::lock_procedure_names)                    \
    X(lock_cookie, "nlm.cookie", "cookie", bytes, dec, {})                                                             \
    X(lock_block, "nlm.block", "block", boolean, dec, {})                                                              \
    X(lock_exclusive, "nlm.exclusive", "exclusive", boolean, dec, {})                                                  \
    X(lock_caller, "nlm.lock.caller_name", "caller_name", string, dec, {})                                             \
    X(nlm_owner, "nlm.lock.owner", "owner", bytes, dec, {})                                                            \
    X(lock_process, "nlm.lock.svid", "svid", uint32, dec, {})                                                          \
    X(lock_offset, "nlm.lock.l_offset64", "l_offset", uint64, dec, {})                                                 \
    X(lock_length, "nlm.lock.l_len64", "l_len", uint64, dec, {})                                                       \
    X(lock_reclaim, "nlm.reclaim", "reclaim", boolean, dec, {})                                                        \
    X(lock_state, "nlm.state", "state", uint32, dec, {})                                                               \
    X(lock_status, "nlm.stat", "stat", uint32, dec, wire::lock_status_names)                                           \
    X(status_procedure1, "stat.procedure_v1", "V1 Procedure", uint32, dec, {})
// clang-format on

enum class NfsField : std::uint8_t {
#define X(id, name, label, kind, base, values) id,
    RDMASCOPE_NFS_FIELDS(X)
#undef X
};

RpcName nfs4_operation_name(std::uint32_t operation);
RpcName nfs4_callback_name(std::uint32_t operation);

/// Receives the items that are read, in the order of the wire. An item that is computed (a hash) has the extent of the
/// bytes that it is computed from.
class NfsVisitor {
public:
    virtual ~NfsVisitor() = default;
    virtual void open(NfsField heading, std::uint64_t value, std::string_view text, std::uint32_t at) = 0;
    virtual void close() = 0;
    virtual void number(NfsField field, std::uint64_t value, std::uint32_t at, std::uint32_t length) = 0;
    virtual void octets(NfsField field, base::Bytes value, std::uint32_t at) = 0;
    virtual void text(NfsField field, std::string_view value, std::uint32_t at) = 0;
};

/// Identifies the message that is read.
struct RpcBody {
    RpcProgram program = RpcProgram::other;
    std::uint32_t version = 0;
    std::uint32_t procedure = 0;
    bool is_call = false;
    /// The number of items that were moved by RDMA. The stream contains only the length of such an item. RFC 8267, 5
    /// and 6.
    std::uint32_t reduced_items = 0;
    std::uint32_t reduced_position = 0;  ///< of a call: the item's place in the complete stream; 0: not known
    std::uint32_t stream_at = 0;         ///< where the RPC message begins, in the bytes that are read
};

/// What a command is about.
struct NfsSummary {
    std::optional<std::uint32_t> operation = {};  ///< of a compound: the one that it is for
    std::uint32_t operations = 0;                 ///< of a compound: that were read
    std::optional<std::uint32_t> status = {};
    std::optional<std::uint32_t> handle = {};  ///< hash of the file's handle
    std::optional<std::uint64_t> offset = {};
    std::optional<std::uint32_t> count = {};
    std::uint64_t inline_bytes = 0;  ///< of data, in the message itself
    std::optional<std::uint32_t> target_high_slot = {};
    std::string_view path = {};           ///< of a mount
    std::string_view server = {};         ///< owner that an EXCHANGE_ID has as its answer
};

/// Reads the program's own part, which begins at `at`. `visitor` may be nullptr.
NfsSummary read_rpc_body(const RpcBody& body, base::Bytes bytes, std::uint32_t at, NfsVisitor* visitor);

/// The CRC-32 that Wireshark shows for a file handle.
std::uint32_t nfs_handle_hash(base::Bytes handle);

inline constexpr ValueName nfs_stable_names[] = {{0, "UNSTABLE"}, {1, "DATA_SYNC"}, {2, "FILE_SYNC"}};
inline constexpr ValueName nfs4_stable_names[] = {{0, "UNSTABLE4"}, {1, "DATA_SYNC4"}, {2, "FILE_SYNC4"}};
inline constexpr ValueName nfs3_file_types[] = {
    {1, "Regular File"},  {2, "Directory"}, {3, "Block Special Device"}, {4, "Character Special Device"},
    {5, "Symbolic Link"}, {6, "Socket"},    {7, "Named Pipe"}};
inline constexpr ValueName nfs4_share_access_names[] = {{0, "OPEN4_SHARE_ACCESS_WANT_NO_PREFERENCE"},
                                                        {1, "OPEN4_SHARE_ACCESS_READ"},
                                                        {2, "OPEN4_SHARE_ACCESS_WRITE"},
                                                        {3, "OPEN4_SHARE_ACCESS_BOTH"}};
inline constexpr ValueName nfs4_share_deny_names[] = {{0, "OPEN4_SHARE_DENY_NONE"},
                                                      {1, "OPEN4_SHARE_DENY_READ"},
                                                      {2, "OPEN4_SHARE_DENY_WRITE"},
                                                      {3, "OPEN4_SHARE_DENY_BOTH"}};
inline constexpr ValueName nfs4_open_types[] = {{0, "OPEN4_NOCREATE"}, {1, "OPEN4_CREATE"}};
inline constexpr ValueName nfs4_create_modes[] = {
    {0, "UNCHECKED4"}, {1, "GUARDED4"}, {2, "EXCLUSIVE4"}, {3, "EXCLUSIVE4_1"}};
inline constexpr ValueName nfs4_claim_types[] = {{0, "CLAIM_NULL"},          {1, "CLAIM_PREVIOUS"},
                                                 {2, "CLAIM_DELEGATE_CUR"},  {3, "CLAIM_DELEGATE_PREV"},
                                                 {4, "CLAIM_FH"},            {5, "CLAIM_DELEG_CUR_FH"},
                                                 {6, "CLAIN_DELEG_CUR_PREV_FH"}};
inline constexpr ValueName nfs4_delegation_types[] = {{0, "OPEN_DELEGATE_NONE"},
                                                      {1, "OPEN_DELEGATE_READ"},
                                                      {2, "OPEN_DELEGATE_WRITE"},
                                                      {3, "OPEN_DELEGATE_NONE_EXT"}};
inline constexpr ValueName nfs4_lock_types[] = {{1, "READ_LT"}, {2, "WRITE_LT"}, {3, "READW_LT"}, {4, "WRITEW_LT"}};

}  // namespace wire
