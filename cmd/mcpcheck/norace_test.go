//go:build !race

package main

// raceEnabled reports whether the race detector is built in, which multiplies the memory of processes.
const raceEnabled = false
