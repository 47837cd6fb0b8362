package reporters

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/suites/report"
)

// npmFile returns a file of an npm package, which .ci/browser fetches. Other readers of reports are not part of this
// repository.
func npmFile(t *testing.T, file string) string {
	t.Helper()
	dir := os.Getenv("MCPCHECK_NODE_MODULES")
	if dir == "" {
		t.Skipf("there is no %s: MCPCHECK_NODE_MODULES is not set; .ci/browser fetches it and runs this test", file)
	}
	path, err := filepath.Abs(filepath.Join(dir, file))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTAPIsReadByItsParser checks that the parser of node-tap, in strict mode, finds failures exactly if the run fails,
// and bails out only if the run has a problem.
func TestTAPIsReadByItsParser(t *testing.T) {
	parser := npmFile(t, "tap-parser/bin/cmd.cjs")
	for name, r := range allSampleReports() {
		cmd := exec.CommandContext(t.Context(), "node", parser, "--strict", "--json")
		cmd.Stdin = bytes.NewReader(render(t, TAP, r))
		out, err := cmd.Output()
		if ok := err == nil; ok != (r.ExitCode == report.ExitConforms) {
			t.Errorf("%s: exit code %d, and the parser ends with %v", name, r.ExitCode, err)
		}
		if bytes.Contains(out, []byte(`"extra"`)) || bytes.Contains(out, []byte(`"tapError": "`)) {
			t.Errorf("%s: the parser finds what is no TAP:\n%s", name, out)
		}
		if bailed := bytes.Contains(out, []byte(`"bailout",`)); bailed != (r.Problem != "") {
			t.Errorf("%s: problem %q, and the parser bails out: %v", name, r.Problem, bailed)
		}
	}
}

// TestCTRFIsValid uses the schema of the reference implementation.
func TestCTRFIsValid(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(npmFile(t, "ctrf/dist/ctrf-schema-0.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, s, CTRF, allSampleReports())
}
