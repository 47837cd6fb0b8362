package config

import (
	"os"

	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters"
)

// reportFlags are the flags that say which reports are written.
type reportFlags struct {
	// files are the paths of report files, by format.
	files map[string]*[]string
	// dir is a directory for a report of every format; it may be empty.
	dir string
	// Annotations is auto, on or off.
	Annotations string
}

// Add defines the flags.
func (f *reportFlags) Add(flags *pflag.FlagSet) {
	f.files = map[string]*[]string{}
	for _, format := range reporters.Formats {
		help := "write " + format.Help + " to `FILE` (- is stdout)"
		f.files[format.Name] = flags.StringArray(format.Name, nil, help)
	}
	flags.StringVar(&f.dir, "report-dir", "", "write a report in every format to the directory `DIR`")
	flags.StringVar(&f.Annotations, "annotations", "auto",
		"`WHEN` to print annotations for GitHub Actions: auto (under GitHub Actions), on, off")
}

// MergeWith returns the paths of reports by format, and the directory. A flag replaces the file's value.
func (f reportFlags) MergeWith(given func(flag string) bool, file ReportFiles) (names map[string][]string, dir string) {
	names = map[string][]string{}
	for format, path := range file.byFormat() {
		if path != "" {
			names[format] = []string{path}
		}
	}
	for format, paths := range f.files {
		if given(format) {
			names[format] = *paths
		}
	}
	if given("report-dir") {
		return names, f.dir
	}
	return names, file.Dir
}

// WantsAnnotations reports whether the run prints annotations of the CI system. It fails for an invalid value.
func (f reportFlags) WantsAnnotations() (bool, error) {
	switch f.Annotations {
	case "auto":
		return os.Getenv("GITHUB_ACTIONS") == "true", nil
	case "on", "off":
		return f.Annotations == "on", nil
	}
	return false, exit.Usagef("--annotations is auto, on or off, not %q", f.Annotations)
}
