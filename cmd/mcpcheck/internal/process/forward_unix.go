//go:build unix

package process

import (
	"os"
	"syscall"
)

// ForwardedSignals returns the signals that are meant for the server.
func ForwardedSignals() []os.Signal {
	return []os.Signal{
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	}
}

// Forward sends a signal to the process group of a server.
func Forward(server *os.Process, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		syscall.Kill(-server.Pid, number)
	}
}
