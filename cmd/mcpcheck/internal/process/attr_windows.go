package process

import (
	"os"
	"syscall"
)

// Attr leaves the server in our group: Ctrl-C reaches both, and its stdin ends with us.
func Attr() *syscall.SysProcAttr { return nil }

// ForwardedSignals are the signals that are not to end us before the server.
func ForwardedSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func Forward(*os.Process, os.Signal) {}
