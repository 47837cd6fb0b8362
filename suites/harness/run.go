package harness

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Run runs the plan and tells each result, once, as soon as those that come before it are known. Ginkgo has the plan as
// its specs, and their outcomes. An error is a fault of mcpcheck. All results are told in either case, also when the
// context has ended and a check has not: it is left behind. It is not safe for concurrent use: Ginkgo keeps its tree in
// package variables.
func Run(
	ctx context.Context, target driver.Target, server *Server, plan []Case, options Options, tell func(Result),
) (o Outcome, err error) {
	execution := Execute(ctx, target, server, plan, options)
	var specs sync.WaitGroup
	specs.Go(func() { err = specify(plan, execution.Result) })
	for _, i := range execution.order() {
		tell(execution.Result(i))
	}
	specs.Wait()
	execution.Wait()
	return Outcome{execution.Problem(), execution.Uncalled(), execution.Sessions()}, err
}

// Outcome is what a run came to beside its results.
type Outcome struct {
	Problem  string // why the run could not go on with this server; empty when it did
	Uncalled []UncalledTool
	Sessions []*driver.Session
}

// specify runs the plan as Ginkgo specs: a container for each area, and in it a spec for each requirement that waits
// for its result. The error is that Ginkgo panicked. Ginkgo listens to SIGINT and SIGTERM from here on, and never
// stops: who wants them to end the program resets them.
func specify(plan []Case, result func(i int) Result) error {
	o := guard(func() {
		globals.Reset()
		formatter.ColorableStdOut = io.Discard
		for _, area := range areasOf(plan) {
			ginkgo.Describe(area, ginkgo.Label(area), func() {
				for i, c := range plan {
					if c.Area() == area {
						spec(c, func() Result { return result(i) })
					}
				}
			})
		}
		suite, reporter := ginkgo.GinkgoConfiguration()
		suite.Timeout = 24 * time.Hour // the run has its own
		ginkgo.RunSpecs(silent{}, "mcpcheck", suite, reporter)
	})
	if o.verdict == Error {
		return errors.New(o.message)
	}
	return nil
}

// areasOf are the areas of a plan, in its order.
func areasOf(plan []Case) (areas []string) {
	for _, c := range plan {
		if !slices.Contains(areas, c.Area()) {
			areas = append(areas, c.Area())
		}
	}
	return areas
}

// spec is one requirement, labelled with its level.
func spec(c Case, result func() Result) {
	ginkgo.It(c.ID, ginkgo.Label(c.Level.In(c.By).String()), func(ginkgo.SpecContext) {
		switch r := result(); r.Verdict {
		case Skip, Inconclusive:
			ginkgo.Skip(r.Message)
		case Fail, Error:
			ginkgo.Fail(r.Message)
		}
	})
}

// silent is the testing.T that Ginkgo wants; a failed run is told by the report.
type silent struct{}

func (silent) Fail() {}
