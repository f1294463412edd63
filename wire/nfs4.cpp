#include <optional>

#include "wire/nfs_items.h"

namespace wire {

namespace {

using Item = NfsField;

/// How unlikely an operation is to be the purpose of its compound: 0 for a purpose, more for what accompanies it.
unsigned nfs4_rank(std::uint32_t operation) {
    switch (operation) {
        case 53:  // SEQUENCE
        case 22:  // PUTFH
        case 10:  // GETFH
        case 32:  // SAVEFH
        case 31:  // RESTOREFH
            return 3;
        case 9:   // GETATTR
        case 23:  // PUTPUBFH
        case 24:  // PUTROOTFH
            return 2;
        case 3: return 1;  // ACCESS
        default: return 0;
    }
}

class Nfs4Reader {
public:
    explicit Nfs4Reader(NfsItemReader& items) : in_(items) {}

    void call() {
        in_.text(Item::tag);
        in_.number(Item::minor_version);
        const std::uint32_t count = in_.number(Item::operation_count);
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            const std::uint32_t operation = in_.xdr.u32();
            if (in_.xdr.ended()) return;
            in_.heading(Item::operation, operation, nfs4_operation_name(operation).text);
            take_main(operation);
            const bool known = arguments(operation);
            in_.close();
            if (!known) break;
        }
        show_main();
    }

    void reply() {
        const std::uint32_t status = in_.number(Item::status4);
        if (in_.xdr.ended()) return;
        in_.summary.status = status;
        in_.text(Item::tag);
        const std::uint32_t count = in_.number(Item::operation_count);
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            const std::uint32_t operation = in_.xdr.u32();
            if (in_.xdr.ended()) return;
            in_.heading(Item::operation, operation, nfs4_operation_name(operation).text);
            take_main(operation);
            const std::uint32_t own = in_.number(Item::status4);
            const bool known = !in_.xdr.ended() && results(operation, own);
            in_.close();
            if (!known) break;
        }
        show_main();
    }

    void callback_call() {
        in_.text(Item::tag);
        in_.number(Item::minor_version);
        in_.xdr.skip(4);  // callback_ident
        const std::uint32_t count = in_.number(Item::operation_count);
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            const std::uint32_t operation = in_.xdr.u32();
            if (in_.xdr.ended()) return;
            in_.heading(Item::callback_operation, operation, nfs4_callback_name(operation).text);
            take_callback(operation);
            const bool known = callback_arguments(operation);
            in_.close();
            if (!known) return;
        }
    }

    void callback_reply() {
        const std::uint32_t status = in_.number(Item::status4);
        if (in_.xdr.ended()) return;
        in_.summary.status = status;
        in_.text(Item::tag);
        const std::uint32_t count = in_.number(Item::operation_count);
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            const std::uint32_t operation = in_.xdr.u32();
            if (in_.xdr.ended()) return;
            in_.heading(Item::callback_operation, operation, nfs4_callback_name(operation).text);
            take_callback(operation);
            const std::uint32_t own = in_.number(Item::status4);
            bool known = !in_.xdr.ended();
            constexpr std::uint32_t cb_sequence = 11;
            if (own == 0 && operation == cb_sequence)
                callback_sequence();
            else
                known = known && (own != 0 || operation != 3);
            in_.close();
            if (!known) return;
        }
    }

private:
    void show_main() {
        if (in_.summary.operation && !in_.xdr.ended())
            in_.computed(Item::main_operation, *in_.summary.operation, in_.xdr.offset(), 0);
    }

    void take_main(std::uint32_t operation) {
        ++in_.summary.operations;
        is_main_ = false;
        const unsigned rank = nfs4_rank(operation);
        if (in_.summary.operation && rank > main_rank_) return;
        main_rank_ = rank;
        is_main_ = true;
        in_.summary.operation = operation;
        in_.summary.handle = current_;
        in_.summary.offset.reset();
        in_.summary.count.reset();
    }

    void take_callback(std::uint32_t operation) {
        constexpr std::uint32_t cb_sequence = 11;
        ++in_.summary.operations;
        if (!in_.summary.operation || operation != cb_sequence) in_.summary.operation = operation;
    }

    void state() {
        in_.number(Item::state_sequence);
        const std::uint32_t at = in_.xdr.offset();
        constexpr std::uint32_t other_bytes = 12;
        const base::Bytes other = in_.fixed(Item::state_other, other_bytes);
        if (!in_.xdr.ended()) in_.computed(Item::state_other_hash, nfs_handle_hash(other), at, other_bytes);
    }
    void attributes() {
        in_.skip_bitmap();
        in_.skip_opaque();
    }
    void change() {
        in_.number(Item::change_atomic);
        in_.wide(Item::change_before);
        in_.wide(Item::change_after);
    }
    void range(std::uint64_t offset, std::optional<std::uint32_t> count) {
        if (in_.xdr.ended() || !is_main_) return;
        in_.summary.offset = offset;
        in_.summary.count = count;
    }
    void owner(Item field) {
        in_.wide(Item::client);
        in_.opaque(field);
    }
    /// Access at most of one security flavor. RFC 8881, 18.33.
    void callback_security() {
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            switch (in_.xdr.u32()) {
                case 0: break;
                case 1:
                    in_.xdr.skip(4);
                    in_.skip_opaque();
                    in_.xdr.skip(8);
                    in_.xdr.skip(std::uint64_t{in_.xdr.u32()} * 4);
                    break;
                case rpc_auth_gss:
                    in_.xdr.skip(4);
                    in_.skip_opaque();
                    in_.skip_opaque();
                    break;
                default: in_.xdr.end();
            }
        }
    }
    void channel() {
        in_.xdr.skip(16);  // padding, requests, responses, cached responses
        in_.number(Item::most_operations);
        in_.number(Item::most_requests);
        in_.xdr.skip(std::uint64_t{in_.xdr.u32()} * 4);
    }

    void open_arguments() {
        in_.number(Item::sequence);
        in_.number(Item::share_access);
        in_.number(Item::share_deny);
        owner(Item::open_owner);
        if (in_.number(Item::open_type) == 1) {
            switch (in_.number(Item::create_mode)) {
                case 0:
                case 1: attributes(); break;
                case 2: in_.wide(Item::verifier4); break;
                case 3:
                    in_.wide(Item::verifier4);
                    attributes();
                    break;
                default: in_.xdr.end();
            }
        }
        switch (in_.number(Item::claim_type)) {
            case 0: in_.text(Item::component); break;
            case 1: in_.number(Item::delegation_type); break;
            case 2:
                state();
                in_.text(Item::component);
                break;
            case 3: in_.text(Item::component); break;
            case 4:
            case 6: break;
            case 5: state(); break;
            default: in_.xdr.end();
        }
    }

    void access_entry() {
        in_.xdr.skip(12);
        in_.skip_opaque();
    }

    void open_results() {
        state();
        change();
        in_.number(Item::open_flags);
        in_.skip_bitmap();
        switch (in_.number(Item::delegation_type)) {
            case 0: break;
            case 1:
                state();
                in_.number(Item::recall);
                access_entry();
                break;
            case 2:
                state();
                in_.number(Item::recall);
                in_.xdr.skip(12);  // limit
                access_entry();
                break;
            case 3: {
                const std::uint32_t why = in_.xdr.u32();
                if (why == 1 || why == 2) in_.xdr.skip(4);  // contention, resource
                break;
            }
            default: in_.xdr.end();
        }
    }

    void lock_arguments() {
        in_.number(Item::lock_type);
        in_.xdr.skip(4);  // reclaim
        const std::uint64_t offset = in_.wide(Item::offset4);
        in_.wide(Item::length4);
        range(offset, std::nullopt);
        if (in_.xdr.u32() != 0) {
            in_.number(Item::sequence);
            state();
            in_.number(Item::sequence);
            owner(Item::lock_owner);
        } else {
            state();
            in_.number(Item::sequence);
        }
    }

    void denied() {
        in_.wide(Item::offset4);
        in_.wide(Item::length4);
        in_.number(Item::lock_type);
        owner(Item::lock_owner);
    }

    void create_arguments() {
        const std::uint32_t type = in_.xdr.u32();
        constexpr std::uint32_t block = 3, character = 4, link = 5;
        if (type == link) in_.skip_data_text(Item::link_text);
        if (type == block || type == character) in_.xdr.skip(8);
        in_.text(Item::component);
        attributes();
    }

    void exchange_arguments() {
        in_.wide(Item::verifier4);
        in_.skip_opaque();
        in_.number(Item::exchange_flags);
        // State protection other than none has parameters of many kinds.
        if (in_.xdr.u32() != 0) return in_.xdr.end();
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) implementation();
    }
    void implementation() {
        in_.skip_opaque();
        in_.skip_opaque();
        in_.xdr.skip(12);
    }

    void exchange_results() {
        in_.wide(Item::client);
        in_.number(Item::sequence);
        in_.number(Item::exchanged_flags);
        if (in_.xdr.u32() != 0) return in_.xdr.end();
        in_.wide(Item::server_minor);
        const base::Bytes major = in_.opaque(Item::server_major);
        in_.summary.server = {reinterpret_cast<const char*>(major.data()), major.size()};
        in_.opaque(Item::scope);
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) implementation();
    }
    void security_results() {
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            if (in_.xdr.u32() != rpc_auth_gss) continue;
            in_.skip_opaque();
            in_.xdr.skip(8);
        }
    }

    void directory_results() {
        in_.wide(Item::verifier4);
        while (in_.xdr.u32() != 0 && !in_.xdr.ended()) {
            in_.wide(Item::cookie4);
            in_.text(Item::name);
            attributes();
        }
        in_.number(Item::eof4);
    }

    void read_plus_results() {
        in_.number(Item::eof4);
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            const std::uint32_t type = in_.xdr.u32();
            in_.wide(Item::offset4);
            if (type == 0)
                in_.data(Item::read_length);
            else
                in_.wide(Item::length4);
        }
    }

    void sequence_results() {
        in_.fixed(Item::session, 16);
        in_.number(Item::sequence);
        in_.number(Item::slot);
        in_.number(Item::high_slot);
        const std::uint32_t target = in_.number(Item::target_high_slot);
        in_.number(Item::sequence_flags);
        if (!in_.xdr.ended()) in_.summary.target_high_slot = target;
    }
    void callback_sequence() {
        in_.fixed(Item::session, 16);
        in_.number(Item::sequence);
        in_.number(Item::slot);
        in_.number(Item::high_slot);
        in_.number(Item::target_high_slot);
    }

    bool callback_arguments(std::uint32_t operation) {
        switch (operation) {
            case 4:  // CB_RECALL
                state();
                in_.xdr.skip(4);
                in_.target();
                return true;
            case 8:  // CB_RECALL_ANY
                in_.xdr.skip(4);
                in_.skip_bitmap();
                return true;
            case 10: in_.xdr.skip(4); return true;  // CB_RECALL_SLOT
            case 11:                               // CB_SEQUENCE
                in_.fixed(Item::session, 16);
                in_.number(Item::sequence);
                in_.number(Item::slot);
                in_.number(Item::high_slot);
                in_.number(Item::cache_this);
                referring();
                return true;
            default: return false;
        }
    }
    void referring() {
        const std::uint32_t count = in_.xdr.u32();
        for (std::uint32_t i = 0; i < count && !in_.xdr.ended(); ++i) {
            in_.xdr.skip(16);
            in_.xdr.skip(std::uint64_t{in_.xdr.u32()} * 8);
        }
    }

    bool arguments(std::uint32_t operation);
    bool results(std::uint32_t operation, std::uint32_t status);

    NfsItemReader& in_;
    std::optional<std::uint32_t> current_ = {};  ///< handle that operations are about
    unsigned main_rank_ = 0;
    bool is_main_ = false;
};

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

}  // namespace

void read_nfs4(NfsItemReader& in) {
    Nfs4Reader reader(in);
    return in.body.is_call ? reader.call() : reader.reply();
}

void read_nfs4_callback(NfsItemReader& in) {
    Nfs4Reader reader(in);
    return in.body.is_call ? reader.callback_call() : reader.callback_reply();
}

}  // namespace wire
