#pragma once
#include "wire/field.h"

/// Words of SMB 2 and 3, as Wireshark has them.
namespace wire {

// In Wireshark's words.
inline constexpr ValueName smb2_commands[] = {
    {0, "Negotiate Protocol"}, {1, "Session Setup"}, {2, "Session Logoff"}, {3, "Tree Connect"},
    {4, "Tree Disconnect"},    {5, "Create"},        {6, "Close"},          {7, "Flush"},
    {8, "Read"},               {9, "Write"},         {10, "Lock"},          {11, "Ioctl"},
    {12, "Cancel"},            {13, "KeepAlive"},    {14, "Find"},          {15, "Notify"},
    {16, "GetInfo"},           {17, "SetInfo"},      {18, "Break"},
};

// Those that a file server answers with. MS-ERREF 2.3.1.
inline constexpr ValueName smb2_statuses[] = {
    {0x00000000, "STATUS_SUCCESS"},
    {0x00000103, "STATUS_PENDING"},
    {0x0000010b, "STATUS_NOTIFY_CLEANUP"},
    {0x0000010c, "STATUS_NOTIFY_ENUM_DIR"},
    {0x80000005, "STATUS_BUFFER_OVERFLOW"},
    {0x80000006, "STATUS_NO_MORE_FILES"},
    {0x8000002d, "STATUS_STOPPED_ON_SYMLINK"},
    {0xc0000001, "STATUS_UNSUCCESSFUL"},
    {0xc0000003, "STATUS_INVALID_INFO_CLASS"},
    {0xc0000004, "STATUS_INFO_LENGTH_MISMATCH"},
    {0xc0000008, "STATUS_INVALID_HANDLE"},
    {0xc000000d, "STATUS_INVALID_PARAMETER"},
    {0xc000000e, "STATUS_NO_SUCH_DEVICE"},
    {0xc000000f, "STATUS_NO_SUCH_FILE"},
    {0xc0000010, "STATUS_INVALID_DEVICE_REQUEST"},
    {0xc0000011, "STATUS_END_OF_FILE"},
    {0xc0000016, "STATUS_MORE_PROCESSING_REQUIRED"},
    {0xc0000022, "STATUS_ACCESS_DENIED"},
    {0xc0000023, "STATUS_BUFFER_TOO_SMALL"},
    {0xc0000032, "STATUS_DISK_CORRUPT_ERROR"},
    {0xc0000033, "STATUS_OBJECT_NAME_INVALID"},
    {0xc0000034, "STATUS_OBJECT_NAME_NOT_FOUND"},
    {0xc0000035, "STATUS_OBJECT_NAME_COLLISION"},
    {0xc0000039, "STATUS_OBJECT_PATH_INVALID"},
    {0xc000003a, "STATUS_OBJECT_PATH_NOT_FOUND"},
    {0xc000003e, "STATUS_DATA_ERROR"},
    {0xc000003f, "STATUS_CRC_ERROR"},
    {0xc0000043, "STATUS_SHARING_VIOLATION"},
    {0xc0000044, "STATUS_QUOTA_EXCEEDED"},
    {0xc0000054, "STATUS_FILE_LOCK_CONFLICT"},
    {0xc0000055, "STATUS_LOCK_NOT_GRANTED"},
    {0xc0000056, "STATUS_DELETE_PENDING"},
    {0xc0000061, "STATUS_PRIVILEGE_NOT_HELD"},
    {0xc000006a, "STATUS_WRONG_PASSWORD"},
    {0xc000006d, "STATUS_LOGON_FAILURE"},
    {0xc000006e, "STATUS_ACCOUNT_RESTRICTION"},
    {0xc0000072, "STATUS_ACCOUNT_DISABLED"},
    {0xc000007e, "STATUS_RANGE_NOT_LOCKED"},
    {0xc000007f, "STATUS_DISK_FULL"},
    {0xc000009a, "STATUS_INSUFFICIENT_RESOURCES"},
    {0xc000009d, "STATUS_DEVICE_NOT_CONNECTED"},
    {0xc00000a2, "STATUS_MEDIA_WRITE_PROTECTED"},
    {0xc00000a3, "STATUS_DEVICE_NOT_READY"},
    {0xc00000b5, "STATUS_IO_TIMEOUT"},
    {0xc00000ba, "STATUS_FILE_IS_A_DIRECTORY"},
    {0xc00000bb, "STATUS_NOT_SUPPORTED"},
    {0xc00000be, "STATUS_BAD_NETWORK_PATH"},
    {0xc00000bf, "STATUS_NETWORK_BUSY"},
    {0xc00000c9, "STATUS_NETWORK_NAME_DELETED"},
    {0xc00000ca, "STATUS_NETWORK_ACCESS_DENIED"},
    {0xc00000cc, "STATUS_BAD_NETWORK_NAME"},
    {0xc00000d0, "STATUS_REQUEST_NOT_ACCEPTED"},
    {0xc00000e9, "STATUS_UNEXPECTED_IO_ERROR"},
    {0xc0000101, "STATUS_DIRECTORY_NOT_EMPTY"},
    {0xc0000103, "STATUS_NOT_A_DIRECTORY"},
    {0xc000011f, "STATUS_TOO_MANY_OPENED_FILES"},
    {0xc0000120, "STATUS_CANCELLED"},
    {0xc0000121, "STATUS_CANNOT_DELETE"},
    {0xc0000128, "STATUS_FILE_CLOSED"},
    {0xc0000185, "STATUS_IO_DEVICE_ERROR"},
    {0xc000019c, "STATUS_FS_DRIVER_REQUIRED"},
    {0xc0000203, "STATUS_USER_SESSION_DELETED"},
    {0xc0000205, "STATUS_INSUFF_SERVER_RESOURCES"},
    {0xc000020c, "STATUS_CONNECTION_DISCONNECTED"},
    {0xc000020d, "STATUS_CONNECTION_RESET"},
    {0xc0000225, "STATUS_NOT_FOUND"},
    {0xc000022d, "STATUS_RETRY"},
    {0xc0000257, "STATUS_PATH_NOT_COVERED"},
    {0xc000035c, "STATUS_NETWORK_SESSION_EXPIRED"},
};

inline constexpr ValueName smb2_channels[] = {
    {0, "None"}, {1, "RDMA V1"}, {2, "RDMA V1_INVALIDATE"}, {3, "RDMA TRANSFORM"}};
inline constexpr ValueName smb2_dialects[] = {
    {0x0202, "SMB 2.0.2"},
    {0x0210, "SMB 2.1"},
    {0x02ff, "SMB2 wildcard"},
    {0x0222, "SMB 2.2.2 (deprecated; should be 3.0)"},
    {0x0224, "SMB 2.2.4 (deprecated; should be 3.0)"},
    {0x0300, "SMB 3.0"},
    {0x0302, "SMB 3.0.2"},
    {0x0310, "SMB 3.1.0 (deprecated; should be 3.1.1)"},
    {0x0311, "SMB 3.1.1"},
};
inline constexpr ValueName smb2_share_types[] = {{1, "Physical disk"}, {2, "Named pipe"}, {3, "Printer"}};
inline constexpr ValueName smb2_oplocks[] = {{0x00, "No oplock"},
                                             {0x01, "Level2 oplock"},
                                             {0x08, "Exclusive oplock"},
                                             {0x09, "Batch oplock"},
                                             {0xff, "Lease"}};
inline constexpr ValueName smb2_impersonation_levels[] = {
    {0, "Anonymous"}, {1, "Identification"}, {2, "Impersonation"}, {3, "Delegation"}};
inline constexpr ValueName smb2_dispositions[] = {
    {0, "Supersede (supersede existing file (if it exists))"},
    {1, "Open (if file exists open it, else fail)"},
    {2, "Create (if file exists fail, else create it)"},
    {3, "Open If (if file exists open it, else create it)"},
    {4, "Overwrite (if file exists overwrite, else fail)"},
    {5, "Overwrite If (if file exists overwrite, else create it)"},
};
inline constexpr ValueName smb2_create_actions[] = {
    {0, "No action taken?"},
    {1, "The file existed and was opened"},
    {2, "The file did not exist but was created"},
    {3, "The file existed and was truncated"},
    {0x8001, "The file existed and was opened, and an OpLock was granted"},
    {0x8002, "The file did not exist but was created, and an OpLock was granted"},
    {0x8003, "The file existed and was truncated, and an OpLock was granted"},
};
inline constexpr ValueName smb2_info_classes[] = {
    {1, "FILE_INFO"}, {2, "FS_INFO"}, {3, "SEC_INFO"}, {4, "QUOTA_INFO"}};
inline constexpr ValueName smb2_context_types[] = {
    {0x0001, "SMB2_PREAUTH_INTEGRITY_CAPABILITIES"}, {0x0002, "SMB2_ENCRYPTION_CAPABILITIES"},
    {0x0003, "SMB2_COMPRESSION_CAPABILITIES"},       {0x0005, "SMB2_NETNAME_NEGOTIATE_CONTEXT_ID"},
    {0x0006, "SMB2_TRANSPORT_CAPABILITIES"},         {0x0007, "SMB2_RDMA_TRANSFORM_CAPABILITIES"},
    {0x0008, "SMB2_SIGNING_CAPABILITIES"},           {0x0100, "SMB2_POSIX_EXTENSIONS_CAPABILITIES"},
};
inline constexpr ValueName smb2_hashes[] = {{1, "SHA-512"}};
inline constexpr ValueName smb2_ciphers[] = {
    {1, "AES-128-CCM"}, {2, "AES-128-GCM"}, {3, "AES-256-CCM"}, {4, "AES-256-GCM"}};

}  // namespace wire
