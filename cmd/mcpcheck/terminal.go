package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminalOf reports whether a writer is a terminal, and how wide it is.
func terminalOf(w io.Writer) (terminal bool, width int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	width, _, _ = term.GetSize(int(f.Fd()))
	return true, width
}
