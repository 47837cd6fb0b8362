// Package build holds the version of this build of mcpcheck.
//
// The linker of a release sets main.version, so that the flag -X main.version stays short; main copies it to Release
// before anything else runs. Version returns Release or, where that is empty, the version of the module that the
// program was installed from, or devel. Every report, trace and requirement set contains it.
package build

import (
	"runtime/debug"
	"strings"
)

// Release is the version of a release; it is empty in any other build. Function main sets it.
var Release = ""

// Version returns the version of this build: that of a release, or of the module that it was installed from.
func Version() string {
	if Release != "" {
		return Release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "devel"
}
