//go:build !race

package main

// raceEnabled reports whether the race detector is built in, which makes processes many times bigger.
const raceEnabled = false
