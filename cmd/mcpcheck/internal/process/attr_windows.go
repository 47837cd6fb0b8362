package process

import (
	"os"
	"syscall"
)

// Attr leaves a server in the process group of mcpcheck: Ctrl-C reaches both. When mcpcheck ends, the server's stdin
// does.
func Attr() *syscall.SysProcAttr { return nil }

// ForwardedSignals returns the signals that must not end mcpcheck before the server.
func ForwardedSignals() []os.Signal { return []os.Signal{os.Interrupt} }

// Forward does nothing: a console signal reaches the server without mcpcheck.
func Forward(*os.Process, os.Signal) {}
