package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/baseline"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/suites/report"
)

// UpdateBaseline tests a server as Run does, and writes its failures to the baseline in place of reports.
func UpdateBaseline(cmd *cobra.Command, f config.Flags) error {
	v, t, err := Resolve(f, false, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	known, err := baseline.Open(cmp.Or(v.Baseline, filepath.Join(filepath.Dir(v.Name), config.DefaultBaseline)))
	if err != nil {
		return err
	}
	var account bytes.Buffer // printed only for a server that could not be tested
	told := NewConsoleSinks(v, t, &account, cmd.ErrOrStderr())
	rep, err := newServerRun(v, t, known, told).run()
	if err != nil {
		return err
	}
	if rep.Problem != "" || rep.ExitCode > report.ExitFails {
		told.console.Done(rep)
		cmd.OutOrStdout().Write(account.Bytes())
		code := max(rep.ExitCode, report.ExitUntestable)
		return exit.With(code, fmt.Errorf("%s was not written: the run did not come to its end", known.Name))
	}
	u := known.UpdateFor(rep)
	if err := u.Write(); err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), t.Redactor.Text(u.String())+baseline.UnrecordedText(rep))
	return err
}
