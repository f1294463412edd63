#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "wire/field.h"
#include "wire/xdr.h"

/// ONC RPC, RFC 5531, and the programs of NFS's family.
namespace wire {

enum class RpcProgram : std::uint8_t { other, nfs, nfs_callback, nfs_acl, lock, mount, status, gluster };
/// The programs by number. Clients choose the numbers of callbacks, from 0x40000000 on.
RpcProgram rpc_program(std::uint32_t number);

inline constexpr std::uint32_t rpc_auth_gss = 6;

/// The content of a header. `body_at` is the offset of the program's own part, valid if `has_body`.
struct RpcHeader {
    std::uint32_t xid = 0;
    bool has_type = false;  ///< call or reply: was captured
    bool is_call = false;
    std::uint32_t rpc_version = 0;
    std::uint32_t program = 0;
    std::uint32_t version = 0;
    std::uint32_t procedure = 0;
    bool has_program = false;    ///< program and version were captured
    bool has_procedure = false;  ///< procedure was captured as well
    std::uint32_t gss_service = 0;  ///< 0: no GSS; 1 none, 2 integrity, 3 privacy. RFC 2203, 5.3.1

    bool has_status = false;  ///< of a reply: the members below were captured
    bool denied = false;
    std::uint32_t accept_state = 0;
    std::uint32_t reject_state = 0;
    std::uint32_t auth_state = 0;

    bool has_body = false;
    std::uint32_t body_at = 0;
};
RpcHeader parse_rpc(base::Bytes message);

/// Moves to the program's own part of a message that GSS protects: after length and sequence number. RFC 2203, 5.3.2.
/// False if that part is encrypted.
bool find_gss_body(std::uint32_t gss_service, base::Bytes message, std::uint32_t& at);

/// A procedure of a program, or an operation of NFSv4.
struct RpcName {
    std::uint32_t number;
    std::string_view text;  ///< as the specification and Wireshark have it: "READ"
    std::string_view kind;  ///< as a kind of command: "read"
};
/// Empty texts for one without a name.
RpcName rpc_procedure_name(RpcProgram program, std::uint32_t version, std::uint32_t procedure);
/// "NFSv3", "NFSv4", "MOUNT"
std::string_view rpc_heading(RpcProgram program, std::uint32_t version);

inline constexpr std::array<ValueName, 2> rpc_message_types{{{0, "Call"}, {1, "Reply"}}};
inline constexpr std::array<ValueName, 2> rpc_reply_states{{{0, "accepted"}, {1, "denied"}}};
inline constexpr std::array<ValueName, 6> rpc_accept_states{{{0, "RPC executed successfully"},
                                                             {1, "remote hasn't exported program"},
                                                             {2, "remote can't support version #"},
                                                             {3, "program can't support procedure"},
                                                             {4, "procedure can't decode params"},
                                                             {5, "system errors like memory allocation failure"}}};
inline constexpr std::array<ValueName, 2> rpc_reject_states{{{0, "RPC_MISMATCH"}, {1, "AUTH_ERROR"}}};
inline constexpr std::array<ValueName, 7> rpc_auth_states{{{1, "bad credential (seal broken)"},
                                                           {2, "client must begin new session"},
                                                           {3, "bad verifier (seal broken)"},
                                                           {4, "verifier expired or replayed"},
                                                           {5, "rejected for security reasons"},
                                                           {13, "GSS credential problem"},
                                                           {14, "GSS context problem"}}};
inline constexpr std::array<ValueName, 6> rpc_auth_flavors{{{0, "AUTH_NULL"},
                                                            {1, "AUTH_UNIX"},
                                                            {2, "AUTH_SHORT"},
                                                            {3, "AUTH_DES"},
                                                            {5, "AUTH_RSA/Gluster"},
                                                            {6, "RPCSEC_GSS"}}};
inline constexpr std::array<ValueName, 6> rpc_programs{{{100003, "NFS"},
                                                        {100227, "NFSACL"},
                                                        {100021, "NLM"},
                                                        {100005, "MOUNT"},
                                                        {100024, "STAT"},
                                                        {1298437, "Gluster"}}};

}  // namespace wire
