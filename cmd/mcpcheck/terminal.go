package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// terminalOf reports whether a writer is a terminal, and how wide it is.
func terminalOf(w io.Writer) (terminal bool, width int) {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, 0
	}
	width, _, _ = term.GetSize(int(f.Fd()))
	return true, width
}

// coloured reports whether the console is to have colours: on a terminal, unless they are not wanted, or where they are
// forced. (no-color.org, force-color.org)
func coloured(terminal, unwanted bool) bool {
	force := os.Getenv("FORCE_COLOR")
	switch {
	case unwanted || os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0" && force != "false":
		return true
	}
	return terminal
}
