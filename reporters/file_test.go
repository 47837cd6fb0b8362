package reporters

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

func TestNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte(strings.Repeat("previous ", 1e4)), 0o600); err != nil {
		t.Fatal(err)
	}
	rep, err := NewFile(Formats[0], path, nil)
	if err != nil {
		t.Fatal(err)
	}
	rep.Result(report.Result{})
	if text, _ := os.ReadFile(path); !bytes.HasPrefix(text, []byte("previous")) {
		t.Error("the previous report is gone before there is a new one")
	}
	if err := rep.Done(fullReport()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(render(t, JSON, fullReport())), string(text)); diff != "" {
		t.Error(diff)
	}
}

func TestNewFileKeepsThePreviousReportWhenRenderingFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(path, []byte("previous"), 0o600); err != nil {
		t.Fatal(err)
	}
	fail := func(io.Writer, report.Report) error { return errors.New("cannot") }
	failing := Format{Name: "bad", Ext: ".bad", Write: fail}
	rep, err := NewFile(failing, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Done(fullReport()); err == nil || err.Error() != "bad report "+path+": cannot" {
		t.Errorf("got error %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "previous" {
		t.Errorf("the file holds %q", text)
	}
}

func TestNewFileWritesToStdout(t *testing.T) {
	var out bytes.Buffer
	rep, err := NewFile(Formats[1], "-", &out)
	if err != nil {
		t.Fatal(err)
	}
	if err := rep.Done(fullReport()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), render(t, JUnit, fullReport())) {
		t.Error("standard output does not hold the report")
	}
}

func TestNewFileErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{"", "junit report: no file named; name one, or - for standard output"},
		{dir, "junit report DIR: is a directory; name a file in it, such as DIR/mcpcheck.xml"},
		{dir + "/no/report.xml", "junit report DIR/no/report.xml: no directory DIR/no; create it first"},
		{file + "/report.xml", "junit report DIR/file/report.xml: no directory DIR/file; create it first"},
	} {
		_, err := NewFile(Formats[1], c.path, nil)
		if err == nil {
			t.Errorf("%q: want an error", c.path)
			continue
		}
		if got := strings.ReplaceAll(err.Error(), dir, "DIR"); got != c.want {
			t.Errorf("want %s\n got %s", c.want, got)
		}
	}
}

// TestNothingAppearsBeforeTheReport proves that a run that is killed leaves no report that is half done.
func TestNothingAppearsBeforeTheReport(t *testing.T) {
	dir := t.TempDir()
	if _, err := NewFile(Formats[0], filepath.Join(dir, "report.json"), nil); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}
