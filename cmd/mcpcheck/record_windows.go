package main

import (
	"os"
	"syscall"
)

// besideUs leaves the server in our group: Ctrl-C reaches both, and its stdin ends with us.
func besideUs() *syscall.SysProcAttr { return nil }

// passedOn are the signals that are not to end us before the server.
func passedOn() []os.Signal { return []os.Signal{os.Interrupt} }

func passOn(*os.Process, os.Signal) {}
