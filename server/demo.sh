#!/bin/sh
# Starts a server, submits five mixed jobs over real inputs, prints the page's address, and serves until Ctrl-C.
#     server/demo.sh target/release/tegula [FOLDER OF TEXT]
set -eu

tegula=$1
sources=$(cd "${2:-${CARGO_HOME:-$HOME/.cargo}/registry/src}" && pwd)
home=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$home"' EXIT
trap 'exit 130' INT TERM

"$tegula" generate stations 20000000 -o "$home/stations.txt"
"$tegula" serve --listen "127.0.0.1:${PORT:-8642}" --home "$home/serve" --root "$sources" --root "$home" >"$home/address" &
server=$!
while [ ! -s "$home/address" ]; do
	kill -0 "$server" || exit 1
	sleep 0.05
done
TEGULA_SERVER=$(sed 's|/#.*||' "$home/address")
export TEGULA_SERVER
submit() {
	"$tegula" submit "$@" >/dev/null
}
submit --name "words of the sources" -- wordcount --words alpha --top 20 "$sources"
submit --name "temperatures by station" -- stations "$home/stations.txt"
submit --name "functions in the sources" --priority 5 -- grep 'fn [a-z_]+' "$sources" --top 20
submit --name "sorted stations" -- sort "$home/stations.txt"
submit --name "places of unsafe" -- index "$sources" --word unsafe
echo "The page: $(cat "$home/address")"
echo "The jobs: TEGULA_SERVER=$TEGULA_SERVER $tegula ps --all"
wait "$server"
