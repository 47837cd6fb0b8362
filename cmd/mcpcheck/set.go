package main

import (
	"github.com/mcpcheck/mcpcheck/reporters"
	"github.com/mcpcheck/mcpcheck/suites"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// readSet reads the set of requirements that --set names, and what of the catalogue belongs to it.
func readSet(name string) (set *catalogue.RequirementSet, frozen catalogue.Catalogue, err error) {
	text, err := readLimited(name, maxSetBytes)
	if err != nil {
		return nil, nil, usageErrorf("--set: %w", err)
	}
	if set, err = catalogue.ReadSet(text); err != nil {
		return nil, nil, usageErrorf("--set: %s: %w", name, err)
	}
	frozen, missing := set.Restrict(suites.Implemented())
	if len(missing) > 0 {
		return nil, nil, usageErrorf(
			"--set: %s: this mcpcheck, %s, has no check for %s (%s in all); judge by it with %s",
			name, toolVersion(), missing[0], reporters.Plural(len(missing), "requirement"), set.Program.Version)
	}
	return set, frozen, nil
}

// applySet has the run judge by exactly what a set has, if one is given.
func (v *options) applySet() (err error) {
	v.tentative = suites.Implemented().Tentative(toolVersion())
	if v.flags.set == "" {
		return nil
	}
	switch {
	case len(v.Only) > 0:
		return usageErrorf("--set and %s exclude each other; the set says what is judged", v.origin("only"))
	case len(v.Skip) > 0:
		return usageErrorf("--set and %s exclude each other; the set says what is judged", v.origin("skip"))
	}
	if v.set, v.setCatalogue, err = readSet(v.flags.set); err != nil {
		return err
	}
	if v.Protocol != protocolAuto && v.Protocol != v.set.Revision {
		return usageErrorf("%s: the set %s is for %s, not %s; leave one of them out", v.origin("protocol"), v.flags.set,
			v.set.Revision, v.Protocol)
	}
	v.Protocol, v.tentative = v.set.Revision, v.set.Tentative
	v.selector = catalogueSelector(v.setCatalogue)
	return nil
}

// catalogueSelector selects what is in a catalogue.
func catalogueSelector(entries catalogue.Catalogue) catalogue.Selector {
	in := map[string]bool{}
	for _, r := range entries {
		in[r.ID] = true
	}
	return func(r *catalogue.Requirement) bool { return in[r.ID] }
}

// builtCatalogue are the requirements that may be tried: of a set, those that it has, as it has them.
func (v options) builtCatalogue() catalogue.Catalogue {
	if v.set != nil {
		return v.setCatalogue
	}
	return suites.Implemented()
}

// all are the requirements of which a report tells how far they are covered.
func (v options) fullCatalogue() catalogue.Catalogue {
	if v.set != nil {
		return v.setCatalogue
	}
	return suites.All()
}

// setInfo names the set of requirements by which a revision is judged: the one that was given, or that of this version.
func (v options) setInfo(revision string) *catalogue.SetInfo {
	if v.set != nil {
		return v.set.Info()
	}
	return currentSet(revision).Info()
}

// currentSet is the set of this version of mcpcheck for a revision.
func currentSet(revision string) *catalogue.RequirementSet {
	tool := catalogue.ProgramInfo{Name: "mcpcheck", Version: toolVersion()}
	return catalogue.NewSet(suites.Implemented(), revision, tool, suites.Implemented().Tentative(toolVersion()))
}

// validateTentative finds out whether there is such a value of --tentative.
func validateTentative(value string) error {
	if value == showTentative || value == gateTentative {
		return nil
	}
	return usageErrorf("--tentative is %s or %s, not %q", showTentative, gateTentative, value)
}

// What is done with checks that are new in this version.
const (
	showTentative = "show"
	gateTentative = "gate"
)

// demoteTentative holds back a result of a check that is tentative, unless such results are to gate.
func (v options) demoteTentative(r *report.Result) {
	if v.flags.tentative == gateTentative {
		return
	}
	if q, found := suites.Find(r.ID); found && v.tentative(q) {
		r.Demote()
	}
}
