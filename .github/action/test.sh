#!/usr/bin/env bash
# Tries the action in a scratch workspace, offline, as a workflow would use it: each
# step of action.yml runs with the variables of a runner (see composite.go). What is
# downloaded comes from a release made here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# Git sets these in hooks; they would lead it from the scratch repository into this one.
# shellcheck disable=SC2046 # names, one to a word
unset $(git rev-parse --local-env-vars)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if command -v cygpath >/dev/null; then scratch=$(cygpath -m "$scratch"); fi # for programs that are not of this bash

case $(uname -s) in
Linux) export RUNNER_OS=Linux ;;
Darwin) export RUNNER_OS=macOS ;;
*) export RUNNER_OS=Windows ;;
esac
case $(uname -m) in
x86_64 | amd64) export RUNNER_ARCH=X64 ;;
*) export RUNNER_ARCH=ARM64 ;;
esac
export GITHUB_ACTIONS=true
export GITHUB_WORKSPACE=$scratch/workspace GITHUB_STEP_SUMMARY=$scratch/summary OUTPUTS=$scratch/outputs
export RUNNER_TEMP=$scratch/temp
export GITHUB_ACTION_REF='' GITHUB_ACTION_REPOSITORY=''
mkdir -p "$GITHUB_WORKSPACE" "$RUNNER_TEMP" "$scratch/bin"

go build -o "$scratch/composite" .github/action/composite.go

fail() {
	echo "$where: $1"
	sed 's/^/  | /' "$scratch/log" "$OUTPUTS"
	exit 1
} >&2

# act TITLE STATUS INPUT=VALUE… runs the action, and wants it to end with that status.
act() {
	where=$1
	local want=$2 got=0
	shift 2
	rm -f "$GITHUB_STEP_SUMMARY" "$OUTPUTS"
	"$scratch/composite" . "$@" >"$scratch/log" 2>&1 || got=$?
	if [[ $got != "$want" ]]; then fail "exit status $got, not $want"; fi
	echo "ok: $where"
}

# is OUTPUT VALUE wants an output of the action to be that.
is() {
	if ! grep -qxF -- "$1=$2" "$OUTPUTS"; then fail "output $1 is not $2"; fi
}

# has FILE TEXT wants a file to hold a text.
has() {
	if ! grep -qF -- "$2" "$1"; then fail "$(basename "$1") does not have: $2"; fi
}

# lacks FILE TEXT wants a file not to hold it, or not to be.
lacks() {
	if [[ -e $1 ]] && grep -qF -- "$2" "$1"; then fail "$(basename "$1") has: $2"; fi
}

# all_reports DIR wants all reports to be there.
all_reports() {
	local name
	for name in report.json report.xml report.md report.sarif badge.svg badge.json; do
		if [[ ! -s $GITHUB_WORKSPACE/$1/$name ]]; then fail "there is no $1/$name"; fi
	done
	is report-dir "$1"
	is junit "$1/report.xml"
	is sarif "$1/report.sarif"
	is markdown "$1/report.md"
}

fault=tools/unknown-tool-code

### A gate, from green to red and back

act "a server that conforms is green" 0 command="mcpcheck serve"
is verdict conforms
is exit-code 0
is gating 0
has "$OUTPUTS" '"inconclusive":'
has "$GITHUB_STEP_SUMMARY" passed
lacks "$scratch/log" ::error
all_reports mcpcheck-report

act "a fault is red, with annotation, summary and reports" 1 command="mcpcheck serve --fault $fault"
is verdict fails
is exit-code 1
is gating 1
has "$OUTPUTS" '"gating":1'
has "$scratch/log" ::error
grep '^::error' "$scratch/log" >"$scratch/errors"
has "$scratch/errors" $fault
has "$GITHUB_STEP_SUMMARY" $fault
has "$GITHUB_WORKSPACE/mcpcheck-report/report.sarif" $fault
has "$GITHUB_WORKSPACE/mcpcheck-report/report.xml" $fault
all_reports mcpcheck-report

act "with fail: false and summary: false the outputs alone say so" 0 \
	command="mcpcheck serve --fault $fault" fail=false summary=false
is verdict fails
lacks "$GITHUB_STEP_SUMMARY" ""

server="a server" # a path with a blank, as paths have
mkdir -p "$GITHUB_WORKSPACE/$server"
cat >"$GITHUB_WORKSPACE/$server/baseline.yaml" <<END
- check: $fault
  reason: to be mended with the next release
END
act "in the baseline the fault is green" 0 \
	command="mcpcheck serve --fault $fault" baseline=baseline.yaml working-directory="$server" report-dir=reports
is verdict conforms
is gating 0
has "$OUTPUTS" '"known":1'
has "$GITHUB_STEP_SUMMARY" $fault
lacks "$scratch/log" ::error
all_reports "$server/reports"

act "once the fault is gone, the baseline is red as stale" 1 \
	command="mcpcheck serve" baseline=baseline.yaml working-directory="$server"
is verdict fails
has "$OUTPUTS" '"stale":1'
grep '^::' "$scratch/log" >"$scratch/annotations"
has "$scratch/annotations" $fault
has "$GITHUB_STEP_SUMMARY" $fault

act "a server that does not start is untestable" 3 command="mcpcheck version"
is verdict untestable

act "and that passes on with fail: false" 0 command="mcpcheck version" fail=false
is verdict untestable

act "wrong usage is red even with fail: false, and has no reports" 2 command="mcpcheck serve" profile=lax fail=false
is verdict usage
is counts ""
is junit ""
has "$scratch/log" "::error title=mcpcheck::"

act "a revision, and further arguments" 0 command="mcpcheck serve" protocol=2025-06-18 args="--only lifecycle -v"
has "$scratch/log" "judged by 2025-06-18"
act "a URL" 3 url=http://127.0.0.1:1/mcp
has "$scratch/log" 127.0.0.1:1
act "a configuration" 2 config=nowhere.yaml
has "$scratch/log" nowhere.yaml

act "an input that is not as it should be" 2 command="mcpcheck serve" fail=no
is verdict usage
act "a report-dir that would set an output" 2 command="mcpcheck serve" report-dir=$'here\nverdict=conforms'
is verdict usage
act "a working-directory that is not there" 2 command="mcpcheck serve" working-directory=nowhere
is verdict usage

# shellcheck disable=SC2016 # not to be expanded, neither here nor there
act "inputs are not run" 2 command='$(touch run) `touch run`; touch run' args='"$(touch run)' profile='"; touch run; "'
if [[ -e $GITHUB_WORKSPACE/run ]]; then fail "an input was run"; fi

### Arguments, as they reach mcpcheck

cat >"$scratch/bin/arguments" <<'END'
#!/usr/bin/env bash
printf '<%s>' "$@"
END
chmod +x "$scratch/bin/arguments"

# arguments WANT VARIABLE=VALUE… wants run.sh to pass these arguments.
arguments() {
	local want=$1
	shift
	where="arguments $*"
	: >"$scratch/output"
	(cd "$GITHUB_WORKSPACE" && env MCPCHECK="$scratch/bin/arguments" GITHUB_OUTPUT="$scratch/output" INPUT_COMMAND= INPUT_URL= \
		INPUT_WORKING_DIRECTORY=. INPUT_PROFILE= INPUT_PROTOCOL= INPUT_BASELINE= INPUT_CONFIG= INPUT_ARGS= \
		INPUT_REPORT_DIR=r INPUT_SUMMARY=true INPUT_FAIL=true "$@" \
		bash "$OLDPWD/.github/action/run.sh") >"$scratch/log" 2>&1 || true
	if ! grep -qxF -- "<run><--report-dir><r>$want" "$scratch/log"; then fail "the arguments are not $want"; fi
	echo "ok: $where"
}

arguments ''
arguments '<--url><u><--profile><p><--protocol><r><--baseline><b><--config><c><--jobs><2><--><a><b>' \
	INPUT_COMMAND='a b' INPUT_URL=u INPUT_PROFILE=p INPUT_PROTOCOL=r INPUT_BASELINE=b INPUT_CONFIG=c INPUT_ARGS='--jobs 2'
arguments '<--><a><b c><d e><><f g>' INPUT_COMMAND=$'  a "b c" \t d\\ e \'\' f" "g \n'
# shellcheck disable=SC2016 # not to be expanded, neither here nor there
arguments '<--><a"b><c\d><\e><f\><$HOME><*><~><|><&&>' INPUT_COMMAND='a\"b "c\d" '\''\e'\'' "f\\" $HOME * ~ | &&'
arguments '<--><it'\''s><"><x>' INPUT_COMMAND='"it'\''s" '\''"'\'' "x"'
arguments '<--><node><-e><console.log("a b", '\''c'\'')><C:\dir\x>' \
	INPUT_COMMAND=$'node\r\n-e\nconsole.log("a b", \'c\')\nC:\\dir\\x\n'
arguments '<--><a></b>' INPUT_COMMAND='a /b'

### Releases

# A curl that has only what is published here, and a git that asks a repository here.
cat >"$scratch/bin/curl" <<'END'
#!/usr/bin/env bash
while (($# > 1)); do
	if [[ $1 == --output ]]; then output=$2; fi
	shift
done
path=${1#https://github.com/mcpcheck/mcpcheck/releases/}
case $path in
download/*) path=${path#download/} ;;
latest/download/*) path=v1.3.0/${path#latest/download/} ;;
esac
cp "$RELEASES/$path" "$output"
END
chmod +x "$scratch/bin/curl"
export PATH=$scratch/bin:$PATH RELEASES=$scratch/releases
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=url.$scratch/repository.insteadOf GIT_CONFIG_VALUE_0=https://github.com/mcpcheck/mcpcheck
export GIT_ALLOW_PROTOCOL=file

archive=mcpcheck_$(go env GOOS)_$(go env GOARCH).tar.gz
program=mcpcheck$(go env GOEXE)

# publish VERSION makes a release, whose mcpcheck knows its version.
publish() {
	mkdir -p "$RELEASES/$1"
	CGO_ENABLED=0 go build -trimpath -ldflags "-X main.version=${1#v}" -o "$scratch/$program" ./cmd/mcpcheck
	(cd "$scratch" && tar -czf "$RELEASES/$1/$archive" "$program")
	(cd "$RELEASES/$1" && if command -v sha256sum >/dev/null; then sha256sum ./*.gz; else shasum -a 256 ./*.gz; fi) |
		sed 's|[*./]*\(mcpcheck_\)|\1|' >"$RELEASES/$1/checksums.txt"
}
publish v1.2.3
publish v1.3.0

repository() { git -C "$scratch/repository" -c user.name=test -c user.email=test@localhost "$@"; }
git init -q -b main "$scratch/repository"
repository commit -q --allow-empty -m "release 1.2.3"
repository tag -a -m v1.2.3 v1.2.3
repository tag v1
first=$(repository rev-parse HEAD)
repository commit -q --allow-empty -m "not released"
second=$(repository rev-parse HEAD)

demo=(command="mcpcheck serve" args="--only lifecycle" summary=false)
act "the version that is asked for" 0 "${demo[@]}" version=1.2.3
has "$scratch/log" "mcpcheck 1.2.3"
act "the newest" 0 "${demo[@]}" version=latest
has "$scratch/log" "mcpcheck 1.3.0"

export GITHUB_ACTION_REPOSITORY=mcpcheck/mcpcheck
GITHUB_ACTION_REF=v1.3.0 act "uses: mcpcheck/mcpcheck@v1.3.0" 0 "${demo[@]}"
has "$scratch/log" "mcpcheck 1.3.0"
GITHUB_ACTION_REF=v1 act "uses: …@v1 is the release that v1 stands on" 0 "${demo[@]}"
has "$scratch/log" "mcpcheck 1.2.3"
GITHUB_ACTION_REF=$first act "uses: …@commit of a release" 0 "${demo[@]}"
has "$scratch/log" "mcpcheck 1.2.3"
GITHUB_ACTION_REF=$second act "uses: …@commit of no release is built" 0 "${demo[@]}"
has "$scratch/log" "mcpcheck devel"
GITHUB_ACTION_REF=main act "uses: …@main is built" 0 "${demo[@]}"
has "$scratch/log" "mcpcheck devel"

act "a version that is none" 1 "${demo[@]}" version=../../evil
has "$scratch/log" "version is to be"
act "a version that was not released" 1 "${demo[@]}" version=9.9.9
has "$scratch/log" "cannot download"
RUNNER_ARCH=X86 act "a system without a release" 1 "${demo[@]}" version=1.2.3
has "$scratch/log" "there is no release for"

echo more >>"$RELEASES/v1.2.3/$archive"
act "an archive with another checksum" 1 "${demo[@]}" version=1.2.3
has "$scratch/log" "does not have the checksum"
: >"$RELEASES/v1.2.3/checksums.txt"
act "an archive without a checksum" 1 "${demo[@]}" version=1.2.3
has "$scratch/log" "states no checksum"
rm "$RELEASES/v1.2.3/checksums.txt"
act "a release without checksums" 1 "${demo[@]}" version=1.2.3
has "$scratch/log" "cannot download"
if [[ -e $RUNNER_TEMP/mcpcheck/$program ]]; then fail "it was unpacked all the same"; fi
