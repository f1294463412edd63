#include "wire/nfs4_reader.h"

namespace wire {

bool Nfs4Reader::arguments(std::uint32_t operation) {
    switch (operation) {
        case 3: in_.number(Item::access_check); break;  // ACCESS
        case 4:                                         // CLOSE
            in_.number(Item::sequence);
            state();
            break;
        case 5: {  // COMMIT
            const std::uint64_t offset = in_.wide(Item::offset4);
            const std::uint32_t count = in_.number(Item::count4);
            range(offset, count);
            break;
        }
        case 6: create_arguments(); break;
        case 7: in_.wide(Item::client); break;  // DELEGPURGE
        case 8: state(); break;                 // DELEGRETURN
        case 9: in_.skip_bitmap(); break;        // GETATTR
        case 10:                                // GETFH
        case 16:                                // LOOKUPP
        case 23:                                // PUTPUBFH
        case 24:                                // PUTROOTFH
        case 27:                                // READLINK
        case 31:                                // RESTOREFH
        case 32:                                // SAVEFH
            break;
        case 11:                                      // LINK
        case 15:                                      // LOOKUP
        case 28:                                      // REMOVE
        case 33: in_.text(Item::component); break;    // SECINFO
        case 12: lock_arguments(); break;
        case 13: {  // LOCKT
            in_.number(Item::lock_type);
            const std::uint64_t offset = in_.wide(Item::offset4);
            in_.wide(Item::length4);
            range(offset, std::nullopt);
            owner(Item::lock_owner);
            break;
        }
        case 14: {  // LOCKU
            in_.number(Item::lock_type);
            in_.number(Item::sequence);
            state();
            const std::uint64_t offset = in_.wide(Item::offset4);
            in_.wide(Item::length4);
            range(offset, std::nullopt);
            break;
        }
        case 17:                            // NVERIFY
        case 37: attributes(); break;       // VERIFY
        case 18: open_arguments(); break;   // OPEN
        case 19: in_.xdr.skip(4); break;     // OPENATTR
        case 20:                            // OPEN_CONFIRM
            state();
            in_.number(Item::sequence);
            break;
        case 21:  // OPEN_DOWNGRADE
            state();
            in_.number(Item::sequence);
            in_.number(Item::share_access);
            in_.number(Item::share_deny);
            break;
        case 22: {  // PUTFH
            const std::uint32_t hash = in_.handle();
            if (in_.xdr.ended()) break;
            current_ = hash;
            if (is_main_) in_.summary.handle = hash;
            break;
        }
        case 25:    // READ
        case 68: {  // READ_PLUS
            state();
            const std::uint64_t offset = in_.wide(Item::offset4);
            const std::uint32_t count = in_.number(Item::count4);
            range(offset, count);
            break;
        }
        case 26:  // READDIR
            in_.wide(Item::cookie4);
            in_.wide(Item::cookie_verifier4);
            in_.number(Item::directory_count4);
            in_.number(Item::most_count4);
            in_.skip_bitmap();
            break;
        case 29:  // RENAME
            in_.text(Item::component);
            in_.text(Item::component);
            break;
        case 30: in_.wide(Item::client); break;  // RENEW
        case 34:                                 // SETATTR
            state();
            attributes();
            break;
        case 35:  // SETCLIENTID
            in_.wide(Item::verifier4);
            in_.skip_opaque();
            in_.number(Item::callback_program);
            in_.skip_opaque();
            in_.skip_opaque();
            in_.xdr.skip(4);
            break;
        case 36:  // SETCLIENTID_CONFIRM
            in_.wide(Item::client);
            in_.wide(Item::verifier4);
            break;
        case 38: {  // WRITE
            state();
            const std::uint64_t offset = in_.wide(Item::offset4);
            in_.number(Item::stable4);
            if (in_.xdr.ended()) break;
            const std::optional<std::uint32_t> count = in_.data(Item::write_length);
            if (is_main_) {
                in_.summary.offset = offset;
                in_.summary.count = count;
            }
            break;
        }
        case 39: owner(Item::lock_owner); break;  // RELEASE_LOCKOWNER
        case 40:                                   // BACKCHANNEL_CTL
            in_.number(Item::callback_program);
            callback_security();
            break;
        case 41:  // BIND_CONN_TO_SESSION
            in_.fixed(Item::session, 16);
            in_.xdr.skip(8);
            break;
        case 42: exchange_arguments(); break;  // EXCHANGE_ID
        case 43:                               // CREATE_SESSION
            in_.wide(Item::client);
            in_.number(Item::sequence);
            in_.number(Item::session_flags);
            channel();
            channel();
            in_.number(Item::callback_program);
            callback_security();
            break;
        case 44: in_.fixed(Item::session, 16); break;  // DESTROY_SESSION
        case 45: state(); break;                       // FREE_STATEID
        case 52: in_.xdr.skip(4); break;                // SECINFO_NO_NAME
        case 53:                                       // SEQUENCE
            in_.fixed(Item::session, 16);
            in_.number(Item::sequence);
            in_.number(Item::slot);
            in_.number(Item::high_slot);
            in_.number(Item::cache_this);
            break;
        case 55: {  // TEST_STATEID
            const std::uint32_t count = in_.xdr.u32();
            for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) state();
            break;
        }
        case 57: in_.wide(Item::client); break;         // DESTROY_CLIENTID
        case 58: in_.number(Item::reclaim_one); break;  // RECLAIM_COMPLETE
        case 59:                                        // ALLOCATE
        case 62: {                                      // DEALLOCATE
            state();
            const std::uint64_t offset = in_.wide(Item::offset4);
            in_.wide(Item::length4);
            range(offset, std::nullopt);
            break;
        }
        case 69: {  // SEEK
            state();
            const std::uint64_t offset = in_.wide(Item::offset4);
            range(offset, std::nullopt);
            in_.xdr.skip(4);
            break;
        }
        case 71: {  // CLONE
            state();
            state();
            const std::uint64_t offset = in_.wide(Item::offset4);
            range(offset, std::nullopt);
            in_.wide(Item::offset4);
            in_.wide(Item::length4);
            break;
        }
        case 72:                                             // GETXATTR
        case 75: in_.text(Item::attribute_name); break;      // REMOVEXATTR
        case 73:                                             // SETXATTR
            in_.xdr.skip(4);
            in_.text(Item::attribute_name);
            in_.skip_value();
            break;
        case 74:  // LISTXATTRS
            in_.wide(Item::cookie4);
            in_.number(Item::most_count4);
            break;
        default: return false;
    }
    return true;
}

}  // namespace wire
