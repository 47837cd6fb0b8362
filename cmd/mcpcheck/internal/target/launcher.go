package target

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/reporters/files"
	"github.com/mcpcheck/mcpcheck/suites/catalogue"
	"github.com/mcpcheck/mcpcheck/suites/driver"
	"github.com/mcpcheck/mcpcheck/suites/text"
)

// A launcher such as npx finds a package, downloads it if necessary, and runs its program, every time. A run starts
// many processes, so it starts one with the launcher and finds out from that which program the launcher runs. If that
// is certain, all others are started directly, with the arguments and the environment that the launcher gives the
// program.

// launcher is a command that is a launcher.
type launcher struct {
	// words are the words that the command begins with.
	words []string
	// replacement says what to use instead of the launcher.
	replacement string
}

const (
	replaceNodeLauncher = "install the package, and give -- node and the file of its program"
	replaceUVLauncher   = "uv tool install the package, and give its program"
	replacePipLauncher  = "pipx install the package, and give its program"
	replaceContainer    = "give the program without its container, where that is possible"
)

var launchers = []launcher{
	{[]string{"npx"}, replaceNodeLauncher},
	{[]string{"npm", "exec"}, replaceNodeLauncher},
	{[]string{"npm", "x"}, replaceNodeLauncher},
	{[]string{"pnpm", "dlx"}, replaceNodeLauncher},
	{[]string{"pnpx"}, replaceNodeLauncher},
	{[]string{"yarn", "dlx"}, replaceNodeLauncher},
	{[]string{"bunx"}, replaceNodeLauncher},
	{[]string{"bun", "x"}, replaceNodeLauncher},
	{[]string{"uvx"}, replaceUVLauncher},
	{[]string{"uv", "tool", "run"}, replaceUVLauncher},
	{[]string{"pipx", "run"}, replacePipLauncher},
	{[]string{"docker", "run"}, replaceContainer},
	{[]string{"podman", "run"}, replaceContainer},
}

// findLauncher returns the launcher that a command begins with, ignoring options; nil means that it is not a launcher.
// It skips commands that only start another one, such as env and cmd /c.
func findLauncher(command []string) *launcher {
	_, command = unwrapCommand(command)
	if len(command) == 0 {
		return nil
	}
	isOption := func(word string) bool { return strings.HasPrefix(word, "-") }
	words := append([]string{commandName(command)}, slices.DeleteFunc(slices.Clone(command[1:]), isOption)...)
	for i, l := range launchers {
		if len(words) >= len(l.words) && slices.Equal(words[:len(l.words)], l.words) {
			return &launchers[i]
		}
	}
	return nil
}

// commandName returns the name of a command's program, without the extension that it has on Windows.
func commandName(command []string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(command[0]), ".exe"), ".cmd")
}

// unwrapCommand returns the command that another one starts, and the variables that are set for it.
func unwrapCommand(command []string) (env, inner []string) {
	if len(command) < 2 {
		return nil, command
	}
	switch program := commandName(command); {
	case program == "env":
		inner = command[1:]
		for len(inner) > 0 && isAssignment(inner[0]) {
			inner = inner[1:]
		}
		return command[1 : len(command)-len(inner)], inner
	case program == "cmd" && strings.EqualFold(command[1], "/c"):
		return nil, command[2:]
	}
	return nil, command
}

var isAssignment = regexp.MustCompile(`^[A-Za-z_]\w*=`).MatchString

// findShellLauncher returns the launcher that the script of a shell begins with, as in sh -c 'npx weather'; nil means
// that there is none. It ignores the rest of the script.
func findShellLauncher(command []string) *launcher {
	if len(command) != 3 || command[1] != "-c" || !slices.Contains([]string{"sh", "bash", "zsh"},
		commandName(command)) {
		return nil
	}
	words := strings.Fields(command[2])
	if len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	return findLauncher(append([]string{"env"}, words...)) // the script may begin with assignments
}

func (l *launcher) String() string { return strings.Join(l.words, " ") }

// fetchTimeout is how long the first start with a launcher may take, which includes the download.
const fetchTimeout = time.Minute

// ResolveLauncher starts the server once when its command is a launcher, so that everything is downloaded, and finds
// out which program the launcher runs. A second start, without the launcher, verifies that: the server must have the
// same name.
func (t *Target) ResolveLauncher(ctx context.Context, told Notifier) {
	l := findLauncher(t.Command)
	if l == nil || t.DriverTarget.Site != nil || t.quick {
		return
	}
	dir, err := os.MkdirTemp("", "mcpcheck-launched-")
	if err != nil {
		return
	}
	defer os.RemoveAll(dir)
	reach := t.DriverTarget
	reach.Waits, reach.Limits.StartTimeout = nil, max(fetchTimeout, reach.Limits.StartTimeout)
	ready := told.ShowWaiting(l.String()+" to start the server once", reach.Limits.StartTimeout)
	defer ready()
	first := reach
	first.Env = append(slices.Clone(reach.Env), processReportEnv(dir, reach.Env)...)
	name := serverIdentity(ctx, first)
	runs, known := findLaunchedProcess(dir, t.Dir)
	if name == "" || !known {
		return
	}
	given, _ := unwrapCommand(t.Command)
	reach.Command, reach.Env = runs.Argv, slices.Concat(reach.Env, given, runs.changedEnv())
	if serverIdentity(ctx, reach) != name {
		return
	}
	t.DriverTarget.Command, t.DriverTarget.Env, t.skipsLauncher = reach.Command, reach.Env, true
	told.PrintNotice(fmt.Sprintf("%s runs %s: further processes are started by that", l, text.Shell(runs.Argv...)))
}

// serverIdentity starts a server and returns its name and version; it is empty when the server does not start, or
// writes something else as well, which would be lost.
func serverIdentity(ctx context.Context, reach driver.Target) string {
	s, err := driver.Start(ctx, reach, driver.Options{})
	if err != nil {
		return ""
	}
	defer s.Close()
	result := s.Connect(driver.ConnectParams(catalogue.NewestLegacy)).Result()
	stray := func(f *driver.Frame) bool { return f.Side == driver.FromServer && f.Kind == driver.NotJSON }
	if result["serverInfo"] == nil || slices.ContainsFunc(s.FramesSince(0), stray) {
		return ""
	}
	name, _ := json.Marshal([]any{result["serverInfo"], result["capabilities"], result["protocolVersion"]})
	return string(name)
}

//go:embed launcher.cjs
var launcherScript []byte

// processDirVariable is the environment variable with the directory in which launcher.cjs writes what a Node process
// runs.
const processDirVariable = "MCPCHECK_LAUNCHED"

// processReportEnv returns the environment variables that make Node processes load launcher.cjs, in addition to their
// options in env.
func processReportEnv(dir string, env []string) []string {
	script := filepath.Join(dir, "launcher.cjs")
	if os.WriteFile(script, launcherScript, 0o600) != nil {
		return nil
	}
	options := os.Getenv("NODE_OPTIONS")
	for _, pair := range env {
		if value, is := strings.CutPrefix(pair, "NODE_OPTIONS="); is {
			options = value
		}
	}
	require := fmt.Sprintf(`NODE_OPTIONS=%s --require "%s"`, options, filepath.ToSlash(script))
	return []string{processDirVariable + "=" + dir, require}
}

// nodeProcess describes a Node process; launcher.cjs writes it.
type nodeProcess struct {
	Script string            `json:"script"`
	Argv   []string          `json:"argv"`
	Env    map[string]string `json:"env"`
	Cwd    string            `json:"cwd"`
}

// launcherScriptPattern matches the scripts of the launchers themselves.
var launcherScriptPattern = regexp.MustCompile(
	`^(npm|npx|pnpm|pnpx|yarn|yarnpkg|corepack)(-cli)?(-[0-9][0-9a-z.-]*)?(\.[cm]?js)?$`)

// These limits bound what is read, since a tested server could write to the directory as well.
const (
	maxProcessFiles     = 32
	maxProcessFileBytes = 1 << 20
)

// findLaunchedProcess returns the one process in the server's working directory that is not the launcher's own; known
// is false when there are several, or none.
func findLaunchedProcess(dir, cwd string) (runs nodeProcess, known bool) {
	paths, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(paths) > maxProcessFiles {
		return nodeProcess{}, false
	}
	n := 0
	for _, file := range paths {
		l, told := readNodeProcess(file)
		if !told {
			return nodeProcess{}, false
		}
		if !launcherScriptPattern.MatchString(filepath.Base(l.Script)) {
			runs = l
			n++
		}
	}
	return runs, n == 1 && files.IsSame(runs.Cwd, files.Abs(cwd))
}

// readNodeProcess reads the description of a process; told is false when the file is not complete. It opens only
// regular files: a pipe would block.
func readNodeProcess(file string) (l nodeProcess, told bool) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nodeProcess{}, false
	}
	raw, err := files.ReadLimited(file, maxProcessFileBytes)
	told = err == nil && json.Unmarshal(raw, &l) == nil && l.Script != "" && len(l.Argv) >= 2
	return l, told
}

// changedEnv returns the variables that the launcher has changed or added.
func (l nodeProcess) changedEnv() (pairs []string) {
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		if value, given := os.LookupEnv(name); !given || value != l.Env[name] {
			pairs = append(pairs, name+"="+l.Env[name])
		}
	}
	return pairs
}

// ReportLauncherCost prints how much time a run has lost to a launcher that started each process.
func (t *Target) ReportLauncherCost(told Notifier) {
	l := cmp.Or(findLauncher(t.Command), findShellLauncher(t.Command))
	if l == nil || t.skipsLauncher {
		return
	}
	if cost := l.costText(t.DriverTarget.Waits.StartStats()); cost != "" {
		told.PrintNotice(cost)
	}
}

// costText says what the starts have cost, and what to use instead of the launcher; it is empty when the cost is small.
func (l *launcher) costText(starts int, each time.Duration) string {
	if starts < 2 || each < time.Second {
		return ""
	}
	return fmt.Sprintf("%d starts by %s took %.1f s each; %s", starts, l, each.Seconds(), l.replacement)
}
