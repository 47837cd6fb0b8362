package harness

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"

	"github.com/mcpcheck/mcpcheck/suites/driver"
)

// Run runs the plan as Ginkgo specs and tells each
// result as soon as it is known. It is not safe for concurrent use: Ginkgo keeps
// its tree in package variables.
//
// Ginkgo runs specs one after another. The waiting is done elsewhere: workers run
// ahead of the specs, and a spec only collects what its worker has found. The
// tree is built of a finished plan, before its first spec runs.
func Run(ctx context.Context, target driver.Target, server *Server, plan []Case, o Options, tell func(Result)) (results []Result, problem string) {
	execution := Execute(ctx, target, server, plan, o)
	var mu sync.Mutex
	told := make([]bool, len(plan))
	collect := func(i int) Result {
		r := execution.Result(i)
		mu.Lock()
		defer mu.Unlock()
		if !told[i] {
			told[i] = true
			results = append(results, r)
			tell(r)
		}
		return r
	}
	globals.Reset()
	formatter.ColorableStdOut = io.Discard
	ginkgo.Describe("mcpcheck", ginkgo.Ordered, ginkgo.ContinueOnFailure, func() { // Ordered: as planned, not by source line
		for _, i := range execution.order() {
			c := plan[i]
			ginkgo.It(c.ID, ginkgo.Label(c.Area(), c.Level.In(c.Revision).String()), func(ginkgo.SpecContext) {
				switch r := collect(i); r.Verdict {
				case Skip, Inconclusive:
					ginkgo.Skip(r.Message)
				case Fail, Error:
					ginkgo.Fail(r.Message)
				}
			})
		}
	})
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.Timeout = 24 * time.Hour // the run has its own
	ginkgo.RunSpecs(silent{}, "mcpcheck", suite, reporter)
	signal.Reset(os.Interrupt, syscall.SIGTERM)
	for i := range plan { // after Ctrl-C Ginkgo skips the specs that are left
		collect(i)
	}
	execution.Wait()
	return results, execution.Problem()
}

// silent is the testing.T that Ginkgo wants; a failed run is told by the report.
type silent struct{}

func (silent) Fail() {}
