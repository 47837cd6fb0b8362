// Package specs runs a plan as Ginkgo specs, with a spec for each requirement.
//
// It is the only package that imports Ginkgo, which registers flags and keeps its tree in package variables. A program
// that tests a server by itself calls engine.Execute instead. Begin with Run. The verdicts are those of package engine;
// Ginkgo has no influence on them.
package specs

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/check/engine"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Run runs the plan and calls visit with each result, as Execution.EachResult does, with a Ginkgo spec for each case.
// An error is a fault of mcpcheck; every result is visited nevertheless. Run is not safe for concurrent use.
func Run(
	ctx context.Context, target driver.Target, server *check.Server, plan []engine.Case, options engine.Options,
	visit func(report.Result),
) (o engine.RunOutcome, err error) {
	execution := engine.Execute(ctx, target, server, plan, options)
	var specs sync.WaitGroup
	specs.Go(func() { err = runSpecs(plan, execution.Result) })
	o = execution.EachResult(visit)
	specs.Wait()
	return o, err
}

// runSpecs runs the plan as Ginkgo specs: a container for each area, with a spec for each requirement that waits for
// its result. It returns an error if Ginkgo panics. Ginkgo handles SIGINT and SIGTERM from then on; a program that
// wants to handle them resets them afterwards.
func runSpecs(plan []engine.Case, result func(i int) report.Result) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("mcpcheck failed: %v\n%s", r, debug.Stack())
		}
	}()
	globals.Reset()
	formatter.ColorableStdOut = io.Discard
	for _, area := range areasOf(plan) {
		ginkgo.Describe(area, ginkgo.Label(area), func() {
			for i, c := range plan {
				if c.Area() == area {
					addSpec(c, func() report.Result { return result(i) })
				}
			}
		})
	}
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.Timeout = 24 * time.Hour // the run has its own limit
	ginkgo.RunSpecs(ginkgoT{}, "mcpcheck", suite, reporter)
	return nil
}

// areasOf returns the areas of a plan, in its order.
func areasOf(plan []engine.Case) (areas []string) {
	for _, c := range plan {
		if !slices.Contains(areas, c.Area()) {
			areas = append(areas, c.Area())
		}
	}
	return areas
}

// addSpec adds a spec for a requirement, with its level as a label.
func addSpec(c engine.Case, result func() report.Result) {
	ginkgo.It(c.ID, ginkgo.Label(c.Level.In(c.JudgedBy).String()), func(ginkgo.SpecContext) {
		switch r := result(); r.Verdict {
		case catalogue.Skip, catalogue.Inconclusive:
			ginkgo.Skip(r.Message)
		case catalogue.Fail, catalogue.Error:
			ginkgo.Fail(r.Message)
		}
	})
}

// ginkgoT is the testing.T that Ginkgo requires. The report tells which specs failed.
type ginkgoT struct{}

func (ginkgoT) Fail() {}
