#!/bin/sh
# Make the keys, passwords and settings of deploy/compose.yaml, once: sudo sh deploy/prepare.sh PUBLIC_URL [FOLDER]
# FOLDER (/srv/mcpist) then has data/ (broker and control plane), gateway/, postgres/, backups/ and compose.env.
# Needs openssl. What is there already stays as it is: a second run changes nothing.
set -eu
umask 077
OWNER=${OWNER:-10001:10001} # of the image's processes

fail() {
    printf 'prepare: %s\n' "$1" >&2
    exit 1
}

make_password() {
    openssl rand -hex 32
}

[ $# -ge 1 ] || fail "name the URL that clients use: sh deploy/prepare.sh https://mcp.example.com [FOLDER]"
url=$1
folder=${2:-/srv/mcpist}
case $url in
    http://?* | https://?*) ;;
    *) fail "'$url' is no URL such as https://mcp.example.com" ;;
esac
case ${url#*://} in
    */*) fail "'$url' has a path; name scheme and host only, such as https://mcp.example.com" ;;
esac
command -v openssl >/dev/null || fail "openssl is missing: apt-get install openssl"
if [ -e "$folder/compose.env" ]; then
    echo "prepare: $folder is prepared already; to change a setting, edit $folder/compose.env" >&2
    exit 0
fi
[ ! -e "$folder/data/keys" ] || fail "$folder/data has keys but no $folder/compose.env: restore that file, or name another folder"
mkdir -p "$folder/data/keys" "$folder/gateway/keys" "$folder/postgres" "$folder/backups"

admin=$(make_password) broker=$(make_password) gateway=$(make_password) console=$(make_password)
printf '{"mcpist_gateway": "%s", "mcpist_console": "%s", "mcpist_broker": "%s"}' "$gateway" "$console" "$broker" \
    >"$folder/data/keys/database-roles.json"
printf '{"key": "%s"}' "$(make_password)" >"$folder/data/keys/audit-digest.json"
openssl genpkey -algorithm ed25519 -out "$folder/gateway/keys/gateway.pem"
openssl pkey -in "$folder/gateway/keys/gateway.pem" -pubout -out "$folder/data/keys/gateways.pem"
cp "$folder/data/keys/audit-digest.json" "$folder/gateway/keys/audit-digest.json"
chown -R "$OWNER" "$folder/data" "$folder/gateway" "$folder/backups"

# Last: by this file a prepared folder is known.
cat >"$folder/compose.env.new" <<END
PUBLIC_URL=$url
DATA=$folder
ADMIN_PASSWORD=$admin
BROKER_PASSWORD=$broker
GATEWAY_PASSWORD=$gateway
END
mv "$folder/compose.env.new" "$folder/compose.env"
echo "prepare: $folder is ready. Keep a copy of $folder/data/keys and $folder/compose.env apart from backups of the database." >&2
