package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// terminalInfo reports whether a writer is a terminal, and how wide its lines may be: as wide as that is, or as COLUMNS
// says where it is none or does not tell; 0 if nothing does.
func terminalInfo(w io.Writer) (terminal bool, width int) {
	if o, ok := w.(*stdoutWriter); ok {
		w = o.Writer
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		terminal = true
		width, _, _ = term.GetSize(int(f.Fd()))
	}
	if width <= 0 {
		width, _ = strconv.Atoi(os.Getenv("COLUMNS"))
	}
	return terminal, width
}

// usesColor reports whether the console is to have colours: on a terminal, unless they are not wanted, or where they
// are forced. (no-color.org, force-color.org)
func usesColor(terminal, unwanted bool) bool {
	force := os.Getenv("FORCE_COLOR")
	switch {
	case unwanted || os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0" && force != "false":
		return true
	}
	return terminal
}
