package check

import "net"

// Listen opens a port on loopback for requests of the server. It ends the check as skip where the server cannot reach
// it.
func Listen(t *T) net.Listener {
	RequireLiveServer(t)
	listener, err := t.attempt.Run.Target.ListenForServer()
	if err != nil {
		t.Skip(NotApplicable, "a tool cannot be made to send a request to mcpcheck: %v", err)
	}
	return listener
}

// RequireSharedFiles ends the check as skip where the server may not see the files of this machine.
func RequireSharedFiles(t *T) {
	RequireLiveServer(t)
	if !t.attempt.Run.Target.SharesFiles() {
		t.Skip(NotApplicable, "the server may not see the files of mcpcheck")
	}
}
