#!/usr/bin/env bash
# Installs a NATS server for the tests, as root: this release's package if it is new enough, otherwise only the program
# from the next release's package in this machine's archive. Upgrades nothing else, and starts no service.
set -euo pipefail

needed=2.10.23
suite=trixie
into=/usr/local/bin

is_fit() { dpkg --compare-versions "${1:-0}" ge "$needed"; }
installed() { nats-server --version 2> /dev/null | sed -n 's/^nats-server: v//p' || true; }

if is_fit "$(installed)"; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

apt-get update -qq
offered=$(LC_ALL=C apt-cache policy nats-server | sed -n 's/^ *Candidate: //p')
if [[ $offered == [0-9]* ]] && is_fit "$offered"; then
  options=()
else
  archive=$(apt-get indextargets --format '$(LABEL) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    sed -n 's/^Debian main //p' | head -n 1)
  if [[ -z $archive ]]; then
    echo "nats-server $needed or newer is in no archive that this machine is set up for: install it by hand." >&2
    exit 1
  fi
  printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$archive" "$suite" > "$work/sources.list"
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
  options=(
    -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root
  )
  apt-get "${options[@]}" update -qq
fi
(cd "$work" && apt-get "${options[@]}" download -qq nats-server)
dpkg-deb --extract "$work"/nats-server_*.deb "$work/package"
install -m 755 "$(find "$work/package" -type f -name nats-server -path '*bin/*')" "$into/nats-server"
is_fit "$(installed)" || { echo "$into/nats-server is not the one that is found first: $(command -v nats-server)" >&2; exit 1; }
echo "nats-server $(installed) installed as $into/nats-server"
