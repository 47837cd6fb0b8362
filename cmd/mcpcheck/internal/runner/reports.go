package runner

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/target"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// newSinks returns sinks for the console and for reports. It opens every file, so that one that cannot be written is
// found before the run.
func newSinks(v config.Options, t *target.Target, stdout, stderr io.Writer) (*Sinks, error) {
	annotate, err := v.Flags.Report.WantsAnnotations()
	if err != nil {
		return nil, err
	}
	place := reporters.NewLocation(os.Getenv("GITHUB_WORKSPACE"), v.File.Name,
		report.TargetInfo{Command: t.Command, Dir: t.Dir})
	paths, onStdout, err := openReports(v, place, stdout)
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	out := stdout
	if onStdout {
		out = stderr
	}
	a := NewConsoleSinks(v, t, out, stderr)
	a.reporters = append(a.reporters, paths...)
	if annotate {
		a.reporters = append(a.reporters, reporters.NewAnnotations(out, place))
	}
	return a, nil
}

// openReports opens the reports of all formats. One of them may go to stdout.
func openReports(v config.Options, place reporters.Location, stdout io.Writer) (
	opened []reporters.Reporter, onStdout bool, err error,
) {
	if err := validateReportFiles(v.ReportFiles); err != nil {
		return nil, false, err
	}
	formats := reporters.NewFormats(reporters.Options{Location: place, FindRequirement: suites.Find})
	for _, format := range formats {
		for _, path := range v.ReportFiles[format.Name] {
			rep, err := reporters.NewFile(format, path, stdout)
			if err != nil {
				return nil, false, err
			}
			opened = append(opened, rep)
			onStdout = onStdout || path == "-"
		}
	}
	if v.ReportDir == "" {
		return opened, onStdout, nil
	}
	all, err := reporters.NewDir(v.ReportDir, formats)
	return slices.Concat(opened, all), onStdout, err
}

// validateReportFiles returns an error for reports that would overwrite each other in one file, or be mixed on stdout.
func validateReportFiles(reports map[string][]string) error {
	writes := map[string]string{} // the flag that a file is for
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
