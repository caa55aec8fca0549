#!/bin/sh
# Make the keys, passwords and settings of deploy/compose.yaml: sudo sh deploy/prepare.sh PUBLIC_URL [FOLDER]
# FOLDER (/srv/mcpist) then has data/ (broker), console/, gateway/, worker/, postgres/, backups/ and compose.env.
# Needs openssl. What is there already stays as it is: another run makes only what a newer version needs beside it, and takes
# over new passwords that `MCPIST_NEW_ROLE_PASSWORDS=yes mcpist migrate` has given to the roles.
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

# The value of a setting that an earlier run has made.
read_setting() {
    sed -n "s/^$1=//p" "$settings"
}

# A role's password, as the database has it; the first, where a rotation was interrupted.
read_role_password() {
    sed -n "s/.*\"$1\": *\[* *\"\([^\"]*\)\".*/\1/p" "$folder/data/keys/database-roles.json"
}

# A private key, and the public one for the broker: make_key_pair FILE PUBLIC_FILE
make_key_pair() {
    [ -e "$1" ] || openssl genpkey -algorithm ed25519 -out "$1"
    [ -e "$2" ] || openssl pkey -in "$1" -pubout -out "$2"
}

# A setting that is not there yet: add_setting NAME VALUE
add_setting() {
    [ -z "$(read_setting "$1")" ] || return 0
    [ -n "$2" ] || fail "$folder/data/keys/database-roles.json has no value for $1: restore that file"
    printf '%s=%s\n' "$1" "$2" >>"$settings"
    echo "prepare: added $1 to $settings" >&2
}

# A role's password in the settings is the one that the database has: take_over_password NAME ROLE
take_over_password() {
    [ -e "$folder/data/keys/database-roles.json" ] || return 0
    password=$(read_role_password "$2")
    [ -n "$password" ] || fail "$folder/data/keys/database-roles.json has no password of $2: restore that file"
    [ "$password" != "$(read_setting "$1")" ] || return 0
    grep -v "^$1=" "$settings" >"$settings.new"
    printf '%s=%s\n' "$1" "$password" >>"$settings.new"
    mv "$settings.new" "$settings"
    echo "prepare: $1 in $settings is the role's new password: docker compose ... up --detach" >&2
}

# The password of a role that older versions do not have; the next migration gives it to the database.
add_worker_password() {
    roles=$folder/data/keys/database-roles.json
    ! grep -q '"mcpist_worker"' "$roles" || return 0
    sed "s/} *$/, \"mcpist_worker\": \"$(make_password)\"}/" "$roles" >"$roles.new"
    mv "$roles.new" "$roles"
}

[ $# -ge 1 ] || fail "name the URL that clients use: sh deploy/prepare.sh https://mcp.example.com [FOLDER]"
url=$1
folder=${2:-/srv/mcpist}
settings=$folder/compose.env
case $url in
    http://?* | https://?*) ;;
    *) fail "'$url' is no URL such as https://mcp.example.com" ;;
esac
case ${url#*://} in
    */*) fail "'$url' has a path; name scheme and host only, such as https://mcp.example.com" ;;
esac
command -v openssl >/dev/null || fail "openssl is missing: apt-get install openssl"
[ -e "$settings" ] || [ ! -e "$folder/data/keys/database-roles.json" ] ||
    fail "$folder/data has keys but no $settings: restore that file, or name another folder"
mkdir -p "$folder/data/keys" "$folder/console/keys" "$folder/gateway/keys" "$folder/worker/keys" "$folder/postgres" \
    "$folder/backups"

if [ ! -e "$settings" ]; then
    admin=$(make_password) broker=$(make_password) gateway=$(make_password) console=$(make_password)
    worker=$(make_password)
    cat >"$settings.new" <<END
PUBLIC_URL=$url
DATA=$folder
ADMIN_PASSWORD=$admin
BROKER_PASSWORD=$broker
GATEWAY_PASSWORD=$gateway
CONSOLE_PASSWORD=$console
WORKER_PASSWORD=$worker
VALKEY_PASSWORD=$(make_password)
END
    printf '{"mcpist_gateway": "%s", "mcpist_console": "%s", "mcpist_broker": "%s", "mcpist_worker": "%s"}' \
        "$gateway" "$console" "$broker" "$worker" >"$folder/data/keys/database-roles.json"
    printf '{"key": "%s"}' "$(make_password)" >"$folder/data/keys/audit-digest.json"
    cp "$folder/data/keys/audit-digest.json" "$folder/gateway/keys/audit-digest.json"
    mv "$settings.new" "$settings"
    echo "prepare: $folder is ready. Keep a copy of $folder/data/keys and $settings apart from backups of the database." >&2
else
    echo "prepare: $folder is prepared already; to change a setting, edit $settings" >&2
    add_setting CONSOLE_PASSWORD "$(read_role_password mcpist_console)"
    add_worker_password
    add_setting WORKER_PASSWORD "$(read_role_password mcpist_worker)"
    add_setting VALKEY_PASSWORD "$(make_password)"
    take_over_password BROKER_PASSWORD mcpist_broker
    take_over_password GATEWAY_PASSWORD mcpist_gateway
    take_over_password CONSOLE_PASSWORD mcpist_console
    take_over_password WORKER_PASSWORD mcpist_worker
fi
make_key_pair "$folder/gateway/keys/gateway.pem" "$folder/data/keys/gateways.pem"
make_key_pair "$folder/console/keys/console.pem" "$folder/data/keys/consoles.pem"
make_key_pair "$folder/worker/keys/worker.pem" "$folder/data/keys/workers.pem"
[ -e "$folder/worker/keys/audit-digest.json" ] ||
    cp "$folder/data/keys/audit-digest.json" "$folder/worker/keys/audit-digest.json"
chown -R "$OWNER" "$folder/data" "$folder/console" "$folder/gateway" "$folder/worker" "$folder/backups"
