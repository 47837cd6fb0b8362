package main

import (
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/harness"
)

// reportFlags say which reports are written.
type reportFlags struct {
	files       map[string]*[]string // by format
	dir         string
	annotations string // auto, on or off
}

// helpOfFormat is what the flag of a format writes.
var helpOfFormat = map[string]string{
	"json":     "a JSON report",
	"junit":    "a JUnit XML report",
	"markdown": "a Markdown report, for a pull request comment or a step summary,",
	"sarif":    "a SARIF 2.1.0 report, for code scanning,",
	"badge":    "a badge, .svg or .json (a shields endpoint),",
}

func (f *reportFlags) add(flags *pflag.FlagSet) {
	f.files = map[string]*[]string{}
	for _, format := range reporters.Formats {
		f.files[format.Name] = flags.StringArray(format.Name, nil, "write "+helpOfFormat[format.Name]+" to `FILE` (- is stdout)")
	}
	flags.StringVar(&f.dir, "report-dir", "", "write a report of every format to this `DIR`ectory")
	flags.StringVar(&f.annotations, "annotations", "auto", "annotations for GitHub Actions on stdout: auto (under GitHub Actions), on, off")
}

// annotate reports whether annotations are wanted.
func (f *reportFlags) annotate() (bool, error) {
	switch f.annotations {
	case "auto":
		return os.Getenv("GITHUB_ACTIONS") == "true", nil
	case "on", "off":
		return f.annotations == "on", nil
	}
	return false, usage("--annotations is auto, on or off, not %q", f.annotations)
}

// openReports opens every file that will be written, so that one that cannot be
// is found now.
func (s *settings) openReports() error {
	f := s.flags.report
	annotate, err := f.annotate()
	if err != nil {
		return err
	}
	place := reporters.Locate(os.Getenv("GITHUB_WORKSPACE"), s.configFile, harness.TargetInfo{Command: s.Command, Dir: s.Cwd})
	formats := reporters.NewFormats(reporters.SARIFOptions{Place: place, Rules: suites.Find})
	out := s.stdout
	for _, format := range formats {
		for _, path := range *f.files[format.Name] {
			r, err := reporters.ToFile(format, path, s.stdout)
			if err != nil {
				return usage("%w", err)
			}
			s.reports = append(s.reports, r)
			if path == "-" {
				out = s.stderr // stdout is the report's
			}
		}
	}
	if f.dir != "" {
		all, err := reporters.Dir(f.dir, formats)
		if err != nil {
			return usage("%w", err)
		}
		s.reports = append(s.reports, all...)
	}
	s.openConsole(out)
	if annotate {
		s.reports = append(s.reports, reporters.NewAnnotations(out, place))
	}
	return nil
}

// openConsole makes the report for people, which comes first.
func (s *settings) openConsole(out io.Writer) {
	s.out = out
	terminal, width := terminalOf(out)
	s.console = reporters.NewConsole(reporters.ConsoleOptions{
		Out: out, Color: terminal && !s.flags.noColor && os.Getenv("NO_COLOR") == "", Terminal: terminal, Width: width,
		Verbosity: verbosity(s.flags), Repeat: s.repeat,
	})
	s.reports = append([]reporters.Reporter{s.console}, s.reports...)
}
