#include "policy/encryption.h"

namespace policy {

bool is_encrypted(wire::Carrier carrier) {
    switch (carrier.kind) {
        case wire::CarrierKind::macsec: return true;
        case wire::CarrierKind::ip_protocol: return carrier.number == 50;  // ESP, RFC 4303
        case wire::CarrierKind::udp_port:
            switch (carrier.number) {
                case 4500:   // ESP after address translation, RFC 3948
                case 4755:   // GRE in DTLS, RFC 8086
                case 6636:   // MPLS in DTLS, RFC 7510
                case 51820:  // WireGuard
                    return true;
                default: return false;
            }
        default: return false;
    }
}

}  // namespace policy
