#!/usr/bin/env bash
# The first step of action.yml: installs mcpcheck, for this step and those after it.
#
# Which mcpcheck: the version that was asked for; else the release that the action
# itself was taken from; else the source of the action. A release is installed only
# if it has the checksum that the release states.
#
# It keeps to bash 3.2, which is what macOS has.
set -euo pipefail

dir=$RUNNER_TEMP/mcpcheck
exe=
if [[ $RUNNER_OS == Windows ]]; then exe=.exe; fi

die() {
	echo "::error title=mcpcheck::$1"
	exit 1
}

# tag_here prints the release tag on the commit of the action, if there is one. The
# action may have been named by commit, by branch, or by a tag that moves, as v1 does.
tag_here() {
	command -v git >/dev/null || return 0
	git ls-remote "https://github.com/$ACTION_REPOSITORY" 2>/dev/null | awk '
		{ sub(/\^.*/, "", $2); commit[$2] = $1 } # after a tag comes NAME^{}, the commit that it stands on
		END {
			here = ref = ENVIRON["ACTION_REF"]
			if ("refs/heads/" ref in commit) here = commit["refs/heads/" ref]
			if ("refs/tags/" ref in commit) here = commit["refs/tags/" ref]
			for (name in commit)
				if (commit[name] == here && name ~ /^refs\/tags\/v[0-9]+\.[0-9]+\.[0-9]+$/) { print substr(name, 11); exit }
		}' || true
}

# choose prints what to install: a tag, latest, or source.
choose() {
	local version=$INPUT_VERSION
	if [[ -z $version && -n $ACTION_REF ]]; then
		if [[ $ACTION_REF == v*.*.* ]]; then version=$ACTION_REF; else version=$(tag_here); fi
	fi
	version=${version#v}
	if [[ -z $version ]]; then
		echo source
	elif [[ $version == source || $version == latest ]]; then
		echo "$version"
	elif [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
		echo "v$version"
	fi
}

sha256() {
	if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

# download installs a release.
download() {
	local os arch archive base file want
	case $RUNNER_OS in
	Linux) os=linux ;;
	macOS) os=darwin ;;
	Windows) os=windows ;;
	*) os= ;;
	esac
	case $RUNNER_ARCH in
	X64) arch=amd64 ;;
	ARM64) arch=arm64 ;;
	*) arch= ;;
	esac
	if [[ -z $os || -z $arch ]]; then
		die "there is no release for $RUNNER_OS on $RUNNER_ARCH; version: source builds one"
	fi

	archive=mcpcheck_${os}_$arch.tar.gz
	base=https://github.com/${ACTION_REPOSITORY:-mcpcheck/mcpcheck}/releases/download/$1
	if [[ $1 == latest ]]; then base=${base%/download/latest}/latest/download; fi
	cd "$dir" # bare file names: tar takes the colon of a Windows path for a host
	for file in "$archive" checksums.txt; do
		curl --fail --silent --show-error --location --proto '=https' --retry 3 --output "$file" "$base/$file" ||
			die "cannot download $base/$file"
	done
	want=$(awk -v file="$archive" '$2 == file { print $1 }' checksums.txt)
	if [[ ! $want =~ ^[0-9a-f]{64}$ ]]; then die "the release states no checksum of $archive"; fi
	if [[ $(sha256 <"$archive") != "$want" ]]; then die "$archive does not have the checksum that the release states"; fi
	tar -xzf "$archive" "mcpcheck$exe"
}

# build installs the source of the action.
build() {
	command -v go >/dev/null ||
		die "to build mcpcheck from source takes Go: use actions/setup-go before, or give the version of a release"
	# What the workflow has set for its own Go code is not meant for this.
	(cd "$GITHUB_ACTION_PATH" && CGO_ENABLED=0 GOFLAGS='' GOWORK=off \
		go build -trimpath -buildvcs=false -o "$dir/mcpcheck$exe" ./cmd/mcpcheck) || die "mcpcheck does not build"
}

version=$(choose)
rm -rf "$dir"
mkdir -p "$dir"
case $version in
'') die "version is to be 1.2.3, latest or source" ;;
source) build ;;
*) download "$version" ;;
esac

"$dir/mcpcheck$exe" version
echo "mcpcheck=$dir/mcpcheck$exe" >>"$GITHUB_OUTPUT"
echo "$dir" >>"$GITHUB_PATH"
