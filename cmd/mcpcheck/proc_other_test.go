//go:build !linux

package main

// seesProcesses reports whether this system shows the environment of processes.
const seesProcesses = false

// processes finds nothing here.
func processes(string) []string { return nil }

// peak is not known here.
func peak() int { return 0 }
