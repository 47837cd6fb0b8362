//go:build unix

package main

import (
	"os"
	"syscall"
)

// forwardedSignals are the signals that are meant for the server.
func forwardedSignals() []os.Signal {
	return []os.Signal{
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	}
}

// forwardSignal sends a signal to the server, and what it has started.
func forwardSignal(server *os.Process, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		syscall.Kill(-server.Pid, number)
	}
}
