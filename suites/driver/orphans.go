package driver

import (
	"crypto/rand"
	"errors"
	"io"
	"regexp"
)

// runMarker marks the environment of every process that this run starts, and so of whatever those start.
var runMarker = "MCPCHECK_RUN=" + rand.Text()

// WithRunMarker is an environment with the mark by which KillOrphans knows a process, and what that starts.
func WithRunMarker(environ []string) []string { return append(environ, runMarker) }

// KillOrphans kills what servers of this run have left behind outside of their process groups, such as daemons that
// called setsid. Only Linux shows whose they are; elsewhere the process group, and the job object of Windows, are what
// is ended.
func KillOrphans() { killMarked(runMarker) }

// RunGuard is what a guard does: it waits for the end of the run that has started it, and sweeps in its place.
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

// runMarkerPattern is that of any run. Nothing else may say what is killed.
var runMarkerPattern = regexp.MustCompile(`^MCPCHECK_RUN=[A-Z2-7]{26,}$`)
