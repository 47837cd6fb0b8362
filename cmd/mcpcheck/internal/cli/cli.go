// Package cli holds what the flags of all commands have in common.
//
// Commands mark flags that exclude each other where they define them (MarkExclusive). ValidateFlags checks this in one
// place before a command runs, and finds flags that were given an empty value. FlagError rewords errors of the flag
// library. FlagArgs writes flags as they were given, for command lines that users copy.
//
// The package knows no flag by its name: those of a run are in package config, others in the file of their command.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// exclusiveAnnotation is the pflag annotation that lists the sets of mutually exclusive flags that a flag belongs to.
const exclusiveAnnotation = "mcpcheck-excludes"

// MarkExclusive marks flags of which only one may be given.
func MarkExclusive(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		sets := append(flags.Lookup(name).Annotations[exclusiveAnnotation], strings.Join(names, " "))
		if err := flags.SetAnnotation(name, exclusiveAnnotation, sets); err != nil {
			panic(err)
		}
	}
}

// ValidateFlags returns an error for a flag without its value, and for two flags that exclude each other.
func ValidateFlags(flags *pflag.FlagSet) (err error) {
	given := map[string]string{} // the flag that was given, by its set
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		if f.NoOptDefVal == "" && (len(values) == 0 || slices.Contains(values, "")) {
			err = cmp.Or(err, exit.Usagef("--%s is empty; give it a value, or leave it out", f.Name))
		}
		for _, set := range f.Annotations[exclusiveAnnotation] {
			if other := given[set]; other != "" {
				err = cmp.Or(err, exit.Usagef("--%s and --%s exclude each other", other, f.Name))
			}
			given[set] = f.Name
		}
	})
	return err
}

// FlagError returns an error of the flag library in plain words, as an error of wrong usage.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		return unknownFlagError(cmd, unknown)
	case errors.As(err, &invalid):
		if kind := flagTypeTexts[invalid.GetFlag().Value.Type()]; kind != "" {
			return fmt.Errorf("--%s needs %s, not %q", invalid.GetFlag().Name, kind, invalid.GetValue())
		}
	}
	return err
}

// flagTypeTexts describes the values that a flag takes, by pflag's name of its type.
var flagTypeTexts = map[string]string{
	"duration": "a duration such as 5s or 500ms",
	"int":      "a whole number",
	"int64":    "a whole number",
	"float64":  "a number",
	"bool":     "true or false",
}

// unknownFlagError suggests the flag that was probably meant, or says that the flag may be one of the server's.
func unknownFlagError(cmd *cobra.Command, err *pflag.NotExistError) error {
	if words := cmd.Flags().Args(); cmd.Name() == "run" && len(words) > 0 {
		return fmt.Errorf("%w; if it is the server's, say mcpcheck run -- %s …", err, strings.Join(words, " "))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := text.Nearest(strings.TrimLeft(err.GetSpecifiedName(), "-"), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}

// FlagArgs returns those of the named flags that were given, as arguments of a command line.
func FlagArgs(flags *pflag.FlagSet, names []string) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		list, many := f.Value.(pflag.SliceValue)
		switch {
		case !slices.Contains(names, f.Name):
		case many:
			words = append(words, "--"+f.Name, strings.Join(list.GetSlice(), ","))
		case f.NoOptDefVal == value: // a switch
			words = append(words, "--"+f.Name)
		case f.NoOptDefVal != "":
			words = append(words, "--"+f.Name+"="+value)
		default:
			words = append(words, "--"+f.Name, value)
		}
	})
	return words
}
