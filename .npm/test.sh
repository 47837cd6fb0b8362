#!/usr/bin/env bash
# Builds the npm packages with the binary for this platform, installs them from their
# tarballs, offline, and tries what a user would.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export npm_config_offline=true npm_config_cache=$scratch/cache npm_config_update_notifier=false
export npm_config_audit=false npm_config_fund=false npm_config_loglevel=error

fail() {
	echo "npm: $1"
	sed 's/^/  | /' "$scratch/log"
	exit 1
} >&2

# try STATUS COMMAND… wants a command to end with that status.
try() {
	local want=$1 got=0
	shift
	"$@" >"$scratch/log" 2>&1 || got=$?
	if [[ $got != "$want" ]]; then fail "$*: exit status $got, not $want"; fi
	echo "ok: ${*//$scratch/…}"
}

has() {
	if ! grep -qF -- "$1" "$scratch/log"; then fail "it does not say: $1"; fi
}

# The packages of the other platforms are never run here: a file stands for the binary.
for platform in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64 windows_arm64; do
	mkdir -p "$scratch/binaries/$platform"
	touch "$scratch/binaries/$platform/mcpcheck"
done
for platform in windows_amd64 windows_arm64; do
	mv "$scratch/binaries/$platform/mcpcheck" "$scratch/binaries/$platform/mcpcheck.exe"
done
CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=1.2.3" \
	-o "$scratch/binaries/$(go env GOOS)_$(go env GOARCH)/mcpcheck$(go env GOEXE)" ./cmd/mcpcheck
try 2 node .npm/build.mjs --version v1 --binaries "$scratch/binaries" --out "$scratch/npm"
has "v1 is no version"
try 2 node .npm/build.mjs --version 1.2.3 --binaries "$scratch" --out "$scratch/npm"
has "has no mcpcheck for linux on amd64"
try 0 node .npm/build.mjs --version 1.2.3 --binaries "$scratch/binaries" --out "$scratch/npm"
mkdir "$scratch/tarballs"
for package in "$scratch"/npm/mcpcheck "$scratch"/npm/@mcpcheck/*; do
	npm pack --silent --pack-destination "$scratch/tarballs" "$package" >/dev/null
done

# shellcheck disable=SC2016 # it is JavaScript
ours=$(node -p '`mcpcheck-${process.platform}-${process.arch}-1.2.3.tgz`')
mkdir "$scratch/project" "$scratch/bare"
cd "$scratch/project"
echo '{"private": true}' >package.json
try 0 npm install "$scratch/tarballs/mcpcheck-1.2.3.tgz" "$scratch/tarballs/$ours"
try 0 npx --no-install mcpcheck version
has "mcpcheck 1.2.3"
try 0 npx --no-install mcpcheck run --demo -q
has PASS
try 1 npx --no-install mcpcheck run -q -- npx --no-install mcpcheck serve --fault tools/unknown-tool-code
has "1 blocking failure"
try 2 npx --no-install mcpcheck run --no-such-flag

# One test for each requirement, in node:test and, where it is installed, in vitest: its directory is in VITEST.
cat >honest.test.mjs <<'EOT'
import { test } from "node:test";
import { conformance } from "mcpcheck/test";
const server = ["--only", "ping,logging", "--protocol", "2025-11-25", "--", "npx", "--no-install", "mcpcheck", "serve"];
await conformance(test, server);
EOT
cat >faulty.test.mjs <<'EOT'
import { test } from "node:test";
import { conformance } from "mcpcheck/test";
await conformance(test, [
  "--only", "ping", "--protocol", "2025-11-25", "--",
  "npx", "--no-install", "mcpcheck", "serve", "--fault", "ping/empty-result",
]);
EOT
cat >wrong.test.mjs <<'EOT'
import { test } from "node:test";
import { conformance } from "mcpcheck/test";
await conformance(test, ["--profile", "lax", "--demo"]);
EOT
cat >dead.test.mjs <<'EOT'
import { test } from "node:test";
import { conformance } from "mcpcheck/test";
await conformance(test, ["--", "false"]);
EOT
try 0 node --test --test-reporter=tap honest.test.mjs
has "- ping/empty-result"
has "# SKIP"
has "# fail 0"
try 1 node --test --test-reporter=tap faulty.test.mjs
has "not ok"
has "MUST ping/empty-result: "
has "fix: Answer ping with the result {}."
has "# fail 1"
try 1 node --test --test-reporter=tap wrong.test.mjs
has '--profile: unknown profile "lax"'
try 1 node --test --test-reporter=tap dead.test.mjs
has "the server exited with status 1"
if [[ -n ${VITEST:-} ]]; then
	ln -s "$VITEST"/* node_modules/ 2>/dev/null || true
	sed -i.bak 's/"node:test"/"vitest"/' honest.test.mjs faulty.test.mjs
	try 0 node node_modules/vitest/vitest.mjs run honest.test.mjs --reporter=verbose
	has "ping/empty-result"
	has "skipped"
	try 1 node node_modules/vitest/vitest.mjs run faulty.test.mjs --reporter=verbose
	has "MUST ping/empty-result: "
	has "1 failed"
fi

# Ctrl-C goes to all processes of the terminal; so does a signal to the group, which a
# job is under set -m. The server never answers, and says who it is.
for launcher in "npx --no-install mcpcheck" node_modules/.bin/mcpcheck; do
	rm -f servers
	set -m
	# shellcheck disable=SC2086,SC2016 # words; to be expanded by the server
	$launcher run -- sh -c 'echo $$ >>servers; exec sleep 300' >"$scratch/log" 2>&1 &
	set +m
	for ((i = 0; i < 100; i++)); do
		if [[ -s servers ]]; then break; fi
		sleep 0.1
	done
	kill -INT -- -$!
	status=0
	wait $! || status=$?
	if [[ $status != 130 ]]; then fail "Ctrl-C of $launcher: exit status $status, not 130"; fi
	has INTERRUPTED
	while read -r server; do
		if kill -0 "$server" 2>/dev/null; then fail "Ctrl-C of $launcher left a server behind"; fi
	done <servers
	echo "ok: Ctrl-C of $launcher"
done

cd "$scratch/bare"
echo '{"private": true}' >package.json
try 0 npm install --omit=optional "$scratch/tarballs/mcpcheck-1.2.3.tgz"
try 4 npx --no-install mcpcheck version
has "is not installed; install mcpcheck again"
