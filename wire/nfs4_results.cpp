#include "wire/nfs4_reader.h"

namespace wire {

bool Nfs4Reader::results(std::uint32_t operation, std::uint32_t status) {
    constexpr std::uint32_t set_attributes = 34, lock = 12, test_lock = 13, lock_is_denied = 10010;
    if (operation == set_attributes) {
        in_.skip_bitmap();
        return true;
    }
    if (status == lock_is_denied && (operation == lock || operation == test_lock)) {
        denied();
        return true;
    }
    if (status != 0) return false;  // the compound ends with it
    switch (operation) {
        case 3:  // ACCESS
            in_.number(Item::access_supported);
            in_.number(Item::access_rights);
            break;
        case 4:   // CLOSE
        case 12:  // LOCK
        case 14:  // LOCKU
        case 20:  // OPEN_CONFIRM
        case 21:  // OPEN_DOWNGRADE
            state();
            break;
        case 5: in_.wide(Item::verifier4); break;  // COMMIT
        case 6:                                    // CREATE
            change();
            in_.skip_bitmap();
            break;
        case 7:   // DELEGPURGE
        case 8:   // DELEGRETURN
        case 13:  // LOCKT
        case 15:  // LOOKUP
        case 16:  // LOOKUPP
        case 17:  // NVERIFY
        case 19:  // OPENATTR
        case 22:  // PUTFH
        case 23:  // PUTPUBFH
        case 24:  // PUTROOTFH
        case 30:  // RENEW
        case 31:  // RESTOREFH
        case 32:  // SAVEFH
        case 36:  // SETCLIENTID_CONFIRM
        case 37:  // VERIFY
        case 39:  // RELEASE_LOCKOWNER
        case 40:  // BACKCHANNEL_CTL
        case 44:  // DESTROY_SESSION
        case 45:  // FREE_STATEID
        case 57:  // DESTROY_CLIENTID
        case 58:  // RECLAIM_COMPLETE
        case 59:  // ALLOCATE
        case 62:  // DEALLOCATE
        case 71:  // CLONE
            break;
        case 9: attributes(); break;            // GETATTR
        case 10: in_.handle(); break;            // GETFH
        case 11:                                // LINK
        case 28:                                // REMOVE
        case 73:                                // SETXATTR
        case 75: change(); break;               // REMOVEXATTR
        case 18: open_results(); break;         // OPEN
        case 25:                                // READ
            in_.number(Item::eof4);
            in_.data(Item::read_length);
            break;
        case 26: directory_results(); break;                   // READDIR
        case 27: in_.skip_data_text(Item::link_text); break;   // READLINK
        case 29:                                               // RENAME
            change();
            change();
            break;
        case 33:                              // SECINFO
        case 52: security_results(); break;   // SECINFO_NO_NAME
        case 35:                              // SETCLIENTID
            in_.wide(Item::client);
            in_.wide(Item::verifier4);
            break;
        case 38:  // WRITE
            in_.number(Item::count4);
            in_.number(Item::stable4);
            in_.wide(Item::verifier4);
            break;
        case 41:  // BIND_CONN_TO_SESSION
            in_.fixed(Item::session, 16);
            in_.xdr.skip(8);
            break;
        case 42: exchange_results(); break;  // EXCHANGE_ID
        case 43:                             // CREATE_SESSION
            in_.fixed(Item::session, 16);
            in_.number(Item::sequence);
            in_.number(Item::session_flags);
            channel();
            channel();
            break;
        case 53: sequence_results(); break;  // SEQUENCE
        case 55: in_.xdr.skip(std::uint64_t{in_.xdr.u32()} * 4); break;  // TEST_STATEID
        case 68: read_plus_results(); break;                           // READ_PLUS
        case 69:                                                       // SEEK
            in_.number(Item::eof4);
            in_.wide(Item::offset4);
            break;
        case 72: in_.skip_value(); break;  // GETXATTR
        case 74: {                                    // LISTXATTRS
            in_.wide(Item::cookie4);
            const std::uint32_t count = in_.xdr.u32();
            for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) in_.text(Item::attribute_name);
            in_.number(Item::eof4);
            break;
        }
        default: return false;
    }
    return true;
}

}  // namespace wire
