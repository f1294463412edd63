#!/usr/bin/env bash
# root.sh FOLDER PACKAGE...: unpacks Debian's arm64 packages, and what they depend on, into FOLDER/root.
#
# The host's dpkg and apt stay as they are: apt works with a state of its own under FOLDER, with the sources and keys
# that the host is configured for. Nothing is executed of what is unpacked. The packages are entered in
# FOLDER/root/var/lib/dpkg, where dpkg-shlibdeps looks up what a library belongs to.
set -euo pipefail
[ $# -ge 2 ] || { printf 'usage: root.sh FOLDER PACKAGE...\n' >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
root=$folder/root
complete=$folder/complete
architecture=arm64

# A root that another version of this script made may lack what the present one mends.
made_from=$(sha256sum <"${BASH_SOURCE[0]}" && printf '%s\n' "$@" | sort -u)
if [ -f "$complete" ] && [ "$(cat "$complete")" = "$made_from" ]; then exit 0; fi

mkdir -p "$folder"/apt/lists/partial "$folder"/apt/archives/partial
: >"$folder/apt/status"
cat >"$folder/apt/apt.conf" <<CONF
APT::Architecture "$architecture";
#clear APT::Architectures;
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::State "$folder/apt";
Dir::State::lists "$folder/apt/lists";
Dir::State::status "$folder/apt/status";
Dir::State::extended_states "$folder/apt/extended_states";
Dir::Cache "$folder/apt";
Dir::Cache::archives "$folder/apt/archives";
Debug::NoLocking "true";
CONF
export APT_CONFIG=$folder/apt/apt.conf
apt-get update -qq
# Archives of an earlier list would be unpacked with the rest.
rm -f "$folder"/apt/archives/*.deb
apt-get install -qq --yes --download-only -o Dpkg::Use-Pty=0 "$@" >/dev/null
archives=("$folder"/apt/archives/*.deb)
[ -e "${archives[0]}" ] || { printf 'root.sh: apt has fetched no package\n' >&2; exit 1; }

# A root is made anew as a whole: a second pass over an old one would mix two versions of a package.
rm -rf "$root" "$complete"
mkdir -p "$root"/usr/{lib,bin,sbin} "$root"/var/lib/dpkg/info "$root"/var/lib/dpkg/updates
for merged in lib bin sbin; do ln -s usr/$merged "$root/$merged"; done
dpkg_folder=$root/var/lib/dpkg
printf '1\n' >"$dpkg_folder/info/format"
printf '%s\n' "$(dpkg --print-architecture)" $architecture >"$dpkg_folder/arch"
for archive in "${archives[@]}"; do
  dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$root" --keep-directory-symlink --no-same-owner
  {
    printf 'Status: install ok installed\n'
    dpkg-deb --field "$archive"
    printf '\n'
  } >>"$dpkg_folder/status"
  name=$(dpkg-deb --field "$archive" Package)
  [ "$(dpkg-deb --field "$archive" Multi-Arch)" != same ] || name=$name:$architecture
  for kind in shlibs symbols; do
    dpkg-deb --info "$archive" $kind >"$dpkg_folder/info/$name.$kind" 2>/dev/null || rm "$dpkg_folder/info/$name.$kind"
  done
  # dpkg-shlibdeps asks for a library by its place in this file system, with /lib resolved to /usr/lib.
  dpkg-deb --fsys-tarfile "$archive" | tar -t | sed -e 's|^\./|/|' -e 's|/$||' -e 's|^/lib/|/usr/lib/|' \
    -e "/./s|^|$root|" -e '/^$/d' >"$dpkg_folder/info/$name.list"
done

# Links that begin at the root lead out of this one.
find "$root" -type l -lname '/*' -printf '%p\t%l\n' | while IFS=$'\t' read -r link target; do
  ln -sfnr "$root$target" "$link"
done

# Some packages (Debian's wireshark-dev) name libraries and headers of others by their places on the host.
# shellcheck disable=SC2016  # CMake expands the variable
find "$root/usr" -name '*.cmake' -exec sed -i -E '/^ *(INTERFACE|IMPORTED)_/s#([";])/usr/#\1${CMAKE_SYSROOT}/usr/#g' {} +
printf '%s\n' "$made_from" >"$complete"
