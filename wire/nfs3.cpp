#include "wire/nfs_items.h"

namespace wire {

namespace {

using Item = NfsField;

class Nfs3Reader {
public:
    explicit Nfs3Reader(NfsItemReader& items) : in_(items) {}

    void call() {
        switch (in_.body.procedure) {
            case 0: return;
            case 3:   // LOOKUP
            case 8:   // CREATE
            case 9:   // MKDIR
            case 11:  // MKNOD
            case 12:  // REMOVE
            case 13:  // RMDIR
                in_.target();
                in_.text(Item::name);
                return;
            case 4:  // ACCESS
                in_.target();
                in_.number(Item::access_check);
                return;
            case 6:  // READ
                in_.target();
                in_.summary.offset = in_.wide(Item::offset3);
                in_.summary.count = in_.number(Item::count3);
                break;
            case 7:  // WRITE
                in_.target();
                in_.summary.offset = in_.wide(Item::offset3);
                in_.summary.count = in_.number(Item::count3);
                in_.number(Item::stable3);
                if (in_.xdr.ended()) break;
                in_.data(Item::write_length);
                return;
            case 10:  // SYMLINK
                in_.target();
                in_.text(Item::name);
                return;
            case 14:  // RENAME
                in_.target();
                in_.text(Item::name);
                in_.handle();
                in_.text(Item::name);
                return;
            case 15:  // LINK
                in_.target();
                in_.handle();
                in_.text(Item::name);
                return;
            case 16:  // READDIR
                in_.target();
                in_.wide(Item::cookie3);
                in_.fixed(Item::verifier3, 8);
                in_.number(Item::count3);
                return;
            case 17:  // READDIRPLUS
                in_.target();
                in_.wide(Item::cookie3);
                in_.fixed(Item::verifier3, 8);
                in_.number(Item::directory_count3);
                in_.number(Item::most_count3);
                return;
            case 21:  // COMMIT
                in_.target();
                in_.wide(Item::offset3);
                in_.number(Item::count3);
                return;
            default: in_.target(); return;
        }
        if (in_.xdr.ended()) forget_range();
    }

    void reply() {
        const std::uint32_t procedure = in_.body.procedure;
        if (procedure == 0) return;
        const std::uint32_t status = in_.number(Item::status3);
        if (in_.xdr.ended()) return;
        in_.summary.status = status;
        if (status != 0) return;
        switch (procedure) {
            case 1: attributes(); return;  // GETATTR
            case 3:                        // LOOKUP
                in_.handle();
                after();
                after();
                return;
            case 4:  // ACCESS
                after();
                in_.number(Item::access_rights);
                return;
            case 5:  // READLINK
                after();
                in_.skip_data_text(Item::link_text);
                return;
            case 6:  // READ
                after();
                in_.number(Item::count3);
                in_.number(Item::eof3);
                in_.data(Item::read_length);
                return;
            case 7:  // WRITE
                both();
                in_.number(Item::count3);
                in_.number(Item::committed3);
                in_.fixed(Item::verifier3, 8);
                return;
            case 8:   // CREATE
            case 9:   // MKDIR
            case 10:  // SYMLINK
            case 11:  // MKNOD
                if (in_.xdr.u32() != 0) in_.handle();
                after();
                both();
                return;
            case 21:  // COMMIT
                both();
                in_.fixed(Item::verifier3, 8);
                return;
            default: return;
        }
    }

    void attributes() {
        in_.number(Item::file_type3);
        in_.number(Item::mode3);
        in_.number(Item::links3);
        in_.number(Item::user3);
        in_.number(Item::group3);
        in_.wide(Item::size3);
        in_.wide(Item::used3);
        in_.xdr.skip(8);  // device
        in_.wide(Item::file_system3);
        in_.wide(Item::file_id3);
        in_.xdr.skip(24);  // times
    }
    void after() {
        if (in_.xdr.u32() != 0) attributes();
    }

private:
    void both() {
        constexpr std::uint32_t before_bytes = 24;  // size and two times
        if (in_.xdr.u32() != 0) in_.xdr.skip(before_bytes);
        after();
    }
    void forget_range() {
        in_.summary.offset.reset();
        in_.summary.count.reset();
    }

    NfsItemReader& in_;
};

}  // namespace

void read_nfs3(NfsItemReader& in) {
    Nfs3Reader reader(in);
    return in.body.is_call ? reader.call() : reader.reply();
}

void read_nfs_acl(NfsItemReader& in) {
    Nfs3Reader nfs(in);
    if (in.body.is_call) {
        if (in.body.procedure == 0) return;
        in.target();
        constexpr std::uint32_t get_acl = 1;
        if (in.body.procedure == get_acl) in.number(Item::acl_mask);
        return;
    }
    if (in.body.procedure == 0) return;
    const std::uint32_t status = in.number(in.body.version == 2 ? Item::status2 : Item::status3);
    if (in.xdr.ended()) return;
    in.summary.status = status;
    if (in.body.version == 3) nfs.after();
}

}  // namespace wire
