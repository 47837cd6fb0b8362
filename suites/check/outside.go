package check

import (
	"net"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Listen opens a port on loopback for requests of the server. It ends the check as skip where the server cannot reach
// it.
func Listen(t *T) net.Listener {
	RequireLiveServer(t)
	listener, err := t.attempt.Run.Target.Listen()
	if err != nil {
		t.Skip(NotApplicable, "a tool cannot be made to send a request to mcpcheck: %v", err)
	}
	return listener
}

// Files returns the files that the server can be expected to write, as they are now. It ends the check as skip where
// they cannot be looked at.
func Files(t *T) driver.FileStates {
	RequireLiveServer(t)
	states, err := t.attempt.Run.Target.Files()
	if err != nil {
		t.Skip(NotApplicable, "the files of the server are not looked at: %v", err)
	}
	return states
}
