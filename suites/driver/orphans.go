package driver

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"regexp"
)

// runMarker is a variable in the environment of every process that this run starts, and so of their children.
var runMarker = "MCPCHECK_RUN=" + rand.Text()

// WithRunMarker adds to an environment the variable by which KillOrphans recognizes a process and its children.
func WithRunMarker(environ []string) []string { return append(environ, runMarker) }

// HasRunMarker reports whether an environment is that of a process of this run.
func HasRunMarker(environ []byte) bool { return bytes.Contains(environ, []byte(runMarker)) }

// KillOrphans kills processes that servers of this run started outside of their process groups, such as daemons that
// called setsid. Only Linux shows to which run a process belongs; elsewhere mcpcheck ends only the process group or, on
// Windows, the job object.
func KillOrphans() { killMarked(runMarker) }

// RunGuard is the main function of a guard process: it reads the marker of the run that started it until that run ends,
// and then kills the orphans of that run. It fails if run does not hold a marker.
func RunGuard(run io.Reader) error {
	cookie, err := io.ReadAll(run)
	switch {
	case err != nil:
		return err
	case !runMarkerPattern.Match(cookie):
		return errors.New("a run of mcpcheck starts its guard itself")
	}
	killMarked(string(cookie))
	return nil
}

// runMarkerPattern matches the marker of any run. A guard must not kill processes by any other text.
var runMarkerPattern = regexp.MustCompile(`^MCPCHECK_RUN=[A-Z2-7]{26,}$`)
