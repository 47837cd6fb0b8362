// Package build knows the version of this build of mcpcheck.
//
// The variable that the linker of a release sets is main.version, so that the flag -X main.version stays short; main
// hands it on as Release before anything else runs. Where none was set, Version is that of the module that the program
// was installed from, or devel. Every report, trace and set of requirements has it.
package build

import (
	"runtime/debug"
	"strings"
)

// Release is the version of a release; empty: this build is none. main sets it.
var Release = ""

// Version is the version of this build: that of a release, or of the module that it was installed from.
func Version() string {
	if Release != "" {
		return Release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "devel"
}
