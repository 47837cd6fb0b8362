package driver

import (
	"crypto/rand"
	"errors"
	"io"
	"regexp"
)

// cookie marks the environment of every process that this run starts, and so of whatever those start.
var cookie = "MCPCHECK_RUN=" + rand.Text()

// Marked is an environment with the mark by which Sweep knows a process, and what that starts.
func Marked(environ []string) []string { return append(environ, cookie) }

// Sweep kills what servers of this run have left behind outside of their process groups, such as daemons that called
// setsid. Only Linux shows whose they are; elsewhere the process group, and the job object of Windows, are what is
// ended.
func Sweep() { sweep(cookie) }

// StandGuard is what a guard does: it waits for the end of the run that has started it, and sweeps in its place.
func StandGuard(run io.Reader) error {
	cookie, err := io.ReadAll(run)
	switch {
	case err != nil:
		return err
	case !aCookie.Match(cookie):
		return errors.New("a run of mcpcheck starts its guard itself")
	}
	sweep(string(cookie))
	return nil
}

// aCookie is that of any run. Nothing else may say what is killed.
var aCookie = regexp.MustCompile(`^MCPCHECK_RUN=[A-Z2-7]{26,}$`)
