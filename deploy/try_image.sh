#!/bin/sh
# Build deploy/Dockerfile without an image registry and start what comes of it: as the image's user, with a read-only root
# file system. For Debian, as root: apt-get install buildah mmdebstrap crun. `make try-image` runs it.
#
# The base is a minimal Debian made by mmdebstrap, instead of the one that the Dockerfile names by digest; everything else is
# the same file. This machine's own configuration of pip, npm and certificates is mounted while it is built, so that packages
# come from where they come from here. The image is for trying only, and is removed unless KEEP_IMAGE is set.
set -eu
cd "$(dirname "$0")/.."
IMAGE=localhost/mcpist-try
BASE=localhost/mcpist-try-base
SUITE=${SUITE:-trixie}
work=$(mktemp -d)
container=

say() {
    printf 'try_image: %s\n' "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

clean_up() {
    [ -z "$container" ] || buildah rm "$container" >/dev/null
    [ -n "${KEEP_IMAGE:-}" ] || buildah rmi --force "$IMAGE" >/dev/null 2>&1 || true
    rm -rf "$work"
}

need() {
    for program in "$@"; do
        command -v "$program" >/dev/null || fail "$program is missing: apt-get install buildah mmdebstrap crun"
    done
    [ "$(id -u)" = 0 ] || fail "run this as root: mmdebstrap and chroot need it"
}

# Made once: it takes a minute. `buildah rmi localhost/mcpist-try-base` has it made anew.
make_base() {
    ! buildah inspect --type image "$BASE" >/dev/null 2>&1 || return 0
    say "making a minimal $SUITE"
    mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates "$SUITE" "$work/base.tar"
    made=$(buildah from scratch)
    buildah add --quiet "$made" "$work/base.tar" / >/dev/null
    # Node has certificates of its own unless it is told.
    buildah config --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt --env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$made"
    buildah commit --quiet --rm "$made" "$BASE" >/dev/null
}

# This machine's configuration of pip, npm and certificates, as the build sees it; nothing of it stays in an image.
list_configuration() {
    for path in /etc/ssl/certs/ca-certificates.crt /etc/pip.conf /etc/npmrc /etc/xdg/pip; do
        [ ! -e "$path" ] || printf ' --volume %s:%s:ro' "$path" "$path"
    done
    for path in .npmrc .config/pip; do
        [ ! -e "$HOME/$path" ] || printf ' --volume %s:/root/%s:ro' "$HOME/$path" "$path"
    done
}

build() {
    say "building the image"
    # shellcheck disable=SC2046  # several words on purpose
    buildah build --isolation chroot --format docker --pull-never --layers $(list_configuration) --build-arg "BASE=$BASE" --tag "$IMAGE" \
        --file deploy/Dockerfile . >"$work/build.log" 2>&1 || { tail -n 40 "$work/build.log" >&2; fail "the build failed"; }
    buildah rmi --prune --force >/dev/null 2>&1 || true
}

inspect() {
    buildah inspect --type image --format "$1" "$IMAGE"
}

# What the image promises beside starting.
check_image() {
    [ "$(inspect '{{.Docker.Config.User}}')" = 10001:10001 ] || fail "the image's user is not 10001:10001"
    [ -n "$(inspect '{{.Docker.Config.Healthcheck}}')" ] || fail "the image has no health check"
    for name in gcc cc g++ ld make node npm; do
        ! find "$root/usr" "$root/opt" -name "$name" \( -type f -o -type l \) | grep -q . || fail "the image has $name"
    done
    [ ! -e "$root/opt/mcpist/bin/pip" ] || fail "the virtual environment has pip"
    [ -e "$(find "$root/opt/mcpist" -path '*/admin_ui/console_dist/index.html')" ] || fail "the console is not in the image"
    writable=$(find "$root/opt/mcpist" "$root/etc" \( -user 10001 -o -perm -o+w ! -type l \) | head -n 1)
    [ -z "$writable" ] || fail "the image's user may write to $writable"
    say "size of the product in the image: $(du -sh "$root/opt/mcpist" | cut -f 1)"
}

# Start a command of the image as its user, in a mount namespace of its own where everything but the data folder and /tmp is
# read-only; it takes the place of the shell that calls it. chroot stands for a container runtime, which wants cgroups that not every machine has.
run_image() {
    exec unshare --mount --pid --fork --kill-child sh -eu -c '
        root=$1; data=$2; shift 2
        mount --make-rprivate /
        mount --bind "$root" "$root"
        mount --bind "$data" "$root/var/lib/mcpist"
        mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
        mount -t proc proc "$root/proc"
        for device in null zero urandom random; do
            : >"$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
        done
        mkdir -p "$root/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
        mount -o remount,bind,ro "$root"
        exec chroot --userspec 10001:10001 "$root" /usr/bin/env -i PATH=/opt/mcpist/bin:/usr/bin:/bin HOME=/var/lib/mcpist \
            PYTHONDONTWRITEBYTECODE=1 MCPIST_HOME=/var/lib/mcpist MCPIST_HOST=127.0.0.1 MCPIST_PORT="$PORT" "$@"
    ' sh "$root" "$work/data" "$@"
}

ask() {
    python3 -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1], timeout=4).read().decode())' \
        "http://127.0.0.1:$PORT$1" 2>/dev/null
}

try_start() {
    install -d -o 10001 -g 10001 -m 0700 "$work/data"
    PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export PORT
    say "starting it as 10001 on a read-only root file system"
    run_image mcpist up >"$work/out.log" 2>"$work/err.log" &
    process=$!
    tries=0
    until ready=$(ask /readyz); do
        tries=$((tries + 1))
        { [ $tries -lt 120 ] && kill -0 $process 2>/dev/null; } || { tail -n 20 "$work/err.log" >&2; fail "it does not become ready"; }
        sleep 0.5
    done
    say "/readyz: $ready"
    ask /console/ | grep -q '<title>' || fail "the console is not served"
    say "the console is served"
    (run_image mcpist-probe) >/dev/null || fail "mcpist-probe finds nothing"
    say "the health check finds it"
    # unshare's child, which is number 1 in the namespace, is the process that a runtime would signal.
    kill -TERM $(cat "/proc/$process/task/$process/children")
    wait "$process" || fail "it does not end by itself after SIGTERM"
    say "it ends in order after SIGTERM"
    ! (run_image sh -c 'touch /opt/mcpist/x 2>/dev/null') || fail "the root file system can be written to"
    say "its root file system cannot be written to"
}

need buildah mmdebstrap unshare chroot
trap clean_up EXIT
trap 'exit 1' INT TERM
make_base
build
container=$(buildah from --pull-never "$IMAGE")
root=$(buildah mount "$container")
check_image
try_start
say "done"
