package main

import (
	"os"
	"syscall"
)

// childProcAttr leaves the server in our group: Ctrl-C reaches both, and its stdin ends with us.
func childProcAttr() *syscall.SysProcAttr { return nil }

// forwardedSignals are the signals that are not to end us before the server.
func forwardedSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func forwardSignal(*os.Process, os.Signal) {}
