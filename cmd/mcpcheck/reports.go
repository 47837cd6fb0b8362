package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// reportFlags say which reports are written.
type reportFlags struct {
	files       map[string]*[]string // by format
	dir         string
	annotations string // auto, on or off
}

// formatTexts is what the flag of a format writes.
var formatTexts = map[string]string{
	"json":     "a JSON report",
	"junit":    "a JUnit XML report",
	"markdown": "a Markdown report (for pull request comments and step summaries)",
	"sarif":    "a SARIF 2.1.0 report (for code scanning)",
	"html":     "an HTML report (one self-contained page)",
	"tap":      "a TAP 14 report",
	"ctrf":     "a CTRF report (Common Test Report Format)",
	"badge":    "a badge, .svg or .json (for shields.io)",
}

func (f *reportFlags) addFlags(flags *pflag.FlagSet) {
	f.files = map[string]*[]string{}
	for _, format := range reporters.Formats {
		help := "write " + formatTexts[format.Name] + " to `FILE` (- is stdout)"
		f.files[format.Name] = flags.StringArray(format.Name, nil, help)
	}
	flags.StringVar(&f.dir, "report-dir", "", "write a report in every format to the directory `DIR`")
	flags.StringVar(&f.annotations, "annotations", "auto",
		"`WHEN` to print annotations for GitHub Actions: auto (under GitHub Actions), on, off")
}

// merge adds the reports of mcpcheck.yaml, but where a flag says otherwise.
func (f reportFlags) mergeWith(given func(flag string) bool, file reportFiles) (files map[string][]string, dir string) {
	files = map[string][]string{}
	for format, path := range file.byFormat() {
		if path != "" {
			files[format] = []string{path}
		}
	}
	for format, paths := range f.files {
		if given(format) {
			files[format] = *paths
		}
	}
	return files, flagOrFile(given("report-dir"), f.dir, file.Dir)
}

// annotate reports whether annotations are wanted.
func (f reportFlags) wantsAnnotations() (bool, error) {
	switch f.annotations {
	case "auto":
		return os.Getenv("GITHUB_ACTIONS") == "true", nil
	case "on", "off":
		return f.annotations == "on", nil
	}
	return false, usageErrorf("--annotations is auto, on or off, not %q", f.annotations)
}

// newSinks is an audience of people and reports. Every file is opened, so that one that cannot be written is found
// now.
func newSinks(v options, t *target, stdout, stderr io.Writer) (*sinks, error) {
	annotate, err := v.flags.report.wantsAnnotations()
	if err != nil {
		return nil, err
	}
	place := reporters.NewLocation(os.Getenv("GITHUB_WORKSPACE"), v.config.name,
		report.TargetInfo{Command: t.command, Dir: t.dir})
	files, onStdout, err := openReports(v, place, stdout)
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	out := stdout
	if onStdout {
		out = stderr
	}
	a := newConsoleSinks(v, t, out, stderr)
	a.reporters = append(a.reporters, files...)
	if annotate {
		a.reporters = append(a.reporters, reporters.NewAnnotations(out, place))
	}
	return a, nil
}

// openReports opens the reports of all formats. One may be for stdout.
func openReports(v options, place reporters.Location, stdout io.Writer) (
	opened []reporters.Reporter, onStdout bool, err error,
) {
	if err := validateReportFiles(v.reports); err != nil {
		return nil, false, err
	}
	formats := reporters.NewFormats(reporters.Options{Location: place, FindRequirement: suites.Find})
	for _, format := range formats {
		for _, path := range v.reports[format.Name] {
			report, err := reporters.NewFile(format, path, stdout)
			if err != nil {
				return nil, false, err
			}
			opened = append(opened, report)
			onStdout = onStdout || path == "-"
		}
	}
	if v.reportDir == "" {
		return opened, onStdout, nil
	}
	all, err := reporters.NewDir(v.reportDir, formats)
	return slices.Concat(opened, all), onStdout, err
}

// validateReportFiles refuses reports that would replace each other in one file, or follow each other on stdout.
func validateReportFiles(reports map[string][]string) error {
	writes := map[string]string{} // the flag, by its file
	for _, format := range reporters.Formats {
		for _, path := range reports[format.Name] {
			file, flag := path, "--"+format.Name
			if path == "-" {
				file = "standard output"
			} else if whole, err := filepath.Abs(path); err == nil {
				file = whole
			}
			if other := writes[file]; other != "" {
				return fmt.Errorf("%s and %s would both write to %s; give each its own file", other, flag, path)
			}
			writes[file] = flag
		}
	}
	return nil
}
