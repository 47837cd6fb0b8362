//go:build !linux

package main

// canListProcesses reports whether this system shows the environment of processes.
const canListProcesses = false

// processesWith returns nothing on this system.
func processesWith(string) []string { return nil }

// peakMemory returns 0, since it is unknown on this system.
func peakMemory() int { return 0 }
