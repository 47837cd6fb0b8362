//go:build !linux

package main

// canListProcesses reports whether this system shows the environment of processes.
const canListProcesses = false

// processesWith finds nothing here.
func processesWith(string) []string { return nil }

// peakMemory is not known here.
func peakMemory() int { return 0 }
