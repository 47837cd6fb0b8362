//go:build !race

package main

// racing reports whether the race detector is built in, which makes processes many times bigger.
const racing = false
