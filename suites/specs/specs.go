// Package specs has Ginkgo run a plan: every requirement is a spec. It alone imports Ginkgo, which registers flags and
// keeps its tree in package variables: who judges a server inside a program of his own uses harness.Execute.
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
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// Run runs the plan and tells each result as harness.Execution.Tell does. Ginkgo has the plan as its specs, and their
// outcomes. An error is a fault of mcpcheck; all results are told all the same. It is not safe for concurrent use.
func Run(
	ctx context.Context, target driver.Target, server *check.Server, plan []check.Case, options check.Options,
	tell func(report.Result),
) (o check.RunOutcome, err error) {
	execution := check.Execute(ctx, target, server, plan, options)
	var specs sync.WaitGroup
	specs.Go(func() { err = runSpecs(plan, execution.Result) })
	o = execution.EachResult(tell)
	specs.Wait()
	return o, err
}

// runSpecs runs the plan as Ginkgo specs: a container for each area, and in it a spec for each requirement that waits
// for its result. The error is that Ginkgo panicked. Ginkgo listens to SIGINT and SIGTERM from here on, and never
// stops: who wants them to end the program resets them.
func runSpecs(plan []check.Case, result func(i int) report.Result) (err error) {
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
	suite.Timeout = 24 * time.Hour // the run has its own
	ginkgo.RunSpecs(ginkgoT{}, "mcpcheck", suite, reporter)
	return nil
}

// areasOf are the areas of a plan, in its order.
func areasOf(plan []check.Case) (areas []string) {
	for _, c := range plan {
		if !slices.Contains(areas, c.Area()) {
			areas = append(areas, c.Area())
		}
	}
	return areas
}

// addSpec is one requirement, labelled with its level.
func addSpec(c check.Case, result func() report.Result) {
	ginkgo.It(c.ID, ginkgo.Label(c.Level.In(c.JudgedBy).String()), func(ginkgo.SpecContext) {
		switch r := result(); r.Verdict {
		case catalogue.Skip, catalogue.Inconclusive:
			ginkgo.Skip(r.Message)
		case catalogue.Fail, catalogue.Error:
			ginkgo.Fail(r.Message)
		}
	})
}

// ginkgoT is the testing.T that Ginkgo wants; a failed run is told by the report.
type ginkgoT struct{}

func (ginkgoT) Fail() {}
