package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/suites/text"
)

// nearestFlag adds to an unknown flag the one that was probably meant, or that it
// is one of the server's.
func nearestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	if words := cmd.Flags().Args(); cmd.Name() == "run" && len(words) > 0 {
		return fmt.Errorf("%w; if it is the server's, say mcpcheck run -- %s …", err, strings.Join(words, " "))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := text.Nearest(strings.TrimLeft(unknown.GetSpecifiedName(), "-"), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}
