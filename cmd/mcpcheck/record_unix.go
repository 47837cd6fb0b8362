//go:build unix

package main

import (
	"os"
	"syscall"
)

// passedOn are the signals that are meant for the server.
func passedOn() []os.Signal {
	return []os.Signal{
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	}
}

// passOn sends a signal to the server, and what it has started.
func passOn(server *os.Process, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		syscall.Kill(-server.Pid, number)
	}
}
