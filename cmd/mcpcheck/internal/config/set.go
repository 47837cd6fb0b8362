package config

import (
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// readSet reads the requirement set that --set names, and returns its requirements as they were when it was frozen.
func readSet(name string) (set *catalogue.RequirementSet, frozen catalogue.Catalogue, err error) {
	content, err := files.ReadLimited(name, maxSetBytes)
	if err != nil {
		return nil, nil, exit.Usagef("--set: %w", err)
	}
	if set, err = catalogue.ReadSet(content); err != nil {
		return nil, nil, exit.Usagef("--set: %s: %w", name, err)
	}
	frozen, missing := set.Restrict(suites.Implemented())
	if len(missing) > 0 {
		return nil, nil, exit.Usagef(
			"--set: %s: this mcpcheck, %s, has no check for %s (%s in all); judge by it with %s",
			name, build.Version(), missing[0], reporters.Plural(len(missing), "requirement"), set.Program.Version)
	}
	return set, frozen, nil
}

// applySet restricts the run to the requirements of the set, at its levels, if the user gave one.
func (v *Options) applySet() (err error) {
	v.tentative = suites.Implemented().Tentative(build.Version())
	if v.Flags.set == "" {
		return nil
	}
	switch {
	case len(v.Only) > 0:
		return exit.Usagef("--set and %s exclude each other; the set says what is judged", v.Origin("only"))
	case len(v.Skip) > 0:
		return exit.Usagef("--set and %s exclude each other; the set says what is judged", v.Origin("skip"))
	}
	if v.set, v.setCatalogue, err = readSet(v.Flags.set); err != nil {
		return err
	}
	if v.Protocol != ProtocolAuto && v.Protocol != v.set.Revision {
		return exit.Usagef("%s: the set %s is for %s, not %s; leave one of them out", v.Origin("protocol"), v.Flags.set,
			v.set.Revision, v.Protocol)
	}
	v.Protocol, v.tentative = v.set.Revision, v.set.Tentative
	v.Selector = catalogueSelector(v.setCatalogue)
	return nil
}

// catalogueSelector returns a selector of the requirements of a catalogue.
func catalogueSelector(entries catalogue.Catalogue) catalogue.Selector {
	in := map[string]bool{}
	for _, r := range entries {
		in[r.ID] = true
	}
	return func(r *catalogue.Requirement) bool { return in[r.ID] }
}

// BuiltCatalogue returns the requirements that the run may test: those of the requirement set as the set has them, or
// else all that are implemented.
func (v Options) BuiltCatalogue() catalogue.Catalogue {
	if v.set != nil {
		return v.setCatalogue
	}
	return suites.Implemented()
}

// fullCatalogue returns the requirements whose coverage a report counts.
func (v Options) fullCatalogue() catalogue.Catalogue {
	if v.set != nil {
		return v.setCatalogue
	}
	return suites.All()
}

// SetInfo returns the name of the requirement set that a revision is judged by: the one that was given, or that of this
// version.
func (v Options) SetInfo(revision string) *catalogue.SetInfo {
	if v.set != nil {
		return v.set.Info()
	}
	return CurrentSet(revision).Info()
}

// CurrentSet returns the requirement set of this version of mcpcheck for a revision.
func CurrentSet(revision string) *catalogue.RequirementSet {
	tool := catalogue.ProgramInfo{Name: "mcpcheck", Version: build.Version()}
	return catalogue.NewSet(suites.Implemented(), revision, tool, suites.Implemented().Tentative(build.Version()))
}

// validateTentative returns an error for an invalid value of --tentative.
func validateTentative(value string) error {
	if value == ShowTentative || value == gateTentative {
		return nil
	}
	return exit.Usagef("--tentative is %s or %s, not %q", ShowTentative, gateTentative, value)
}

// These values of --tentative say what happens with failures of checks that are new in this version.
const (
	ShowTentative = "show"
	gateTentative = "gate"
)

// DemoteTentative makes a failure of a tentative check not gate, unless the user wants such failures to gate.
func (v Options) DemoteTentative(r *report.Result) {
	if v.Flags.tentative == gateTentative {
		return
	}
	if q, found := suites.Find(r.ID); found && v.tentative(q) {
		r.Demote()
	}
}

// PlannedCases returns the cases for a server of those checks of a catalogue that a selector selects.
func PlannedCases(entries catalogue.Catalogue, server *check.Server, selected catalogue.Selector) []engine.Case {
	return engine.Plan(entries, suites.Checks(), server, selected)
}

// maxSetBytes is the size limit of a requirement set.
const maxSetBytes = 8 << 20
