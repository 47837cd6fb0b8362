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

// A launcher looks a package up, fetches it where it is not there, and then runs its program, each time. A run starts
// many processes: it has the launcher start one, and learns from that which program it runs. Where that is certain, all
// others are this program, with the arguments and the environment that the launcher gives it.

// launcher is a command that is one, with what to give in its place.
type launcher struct {
	words       []string // that it begins with
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

// findLauncher is the launcher that a command begins with, whatever options it has; nil when that is none. What only
// starts another command, as env and cmd /c do, is looked through.
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

// commandName is the name of a command's program, without what Windows adds to it.
func commandName(command []string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(command[0]), ".exe"), ".cmd")
}

// unwrapCommand is the command that another one starts, with what that adds to the environment.
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

// findShellLauncher is the launcher that the script of a shell begins with, as in sh -c 'npx weather'; nil when that is
// none. What else the script does nobody knows.
func findShellLauncher(command []string) *launcher {
	if len(command) != 3 || command[1] != "-c" || !slices.Contains([]string{"sh", "bash", "zsh"},
		commandName(command)) {
		return nil
	}
	words := strings.Fields(command[2])
	if len(words) > 0 && words[0] == "exec" {
		words = words[1:]
	}
	return findLauncher(append([]string{"env"}, words...)) // assignments may stand before it
}

func (l *launcher) String() string { return strings.Join(l.words, " ") }

// fetchTimeout is how long a launcher may take for its first start, in which it fetches what it runs.
const fetchTimeout = time.Minute

// ResolveLauncher starts the server once where its command is a launcher, so that everything is there that this
// fetches, and finds out which program it runs. A second start shows whether it is that: the server names itself as
// before.
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

// serverIdentity starts a server and returns what it says that it is; empty when it does not, or writes something else
// as well, which would be lost.
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

// processDirVariable names the directory in which Node processes tell what they run.
const processDirVariable = "MCPCHECK_LAUNCHED"

// processReportEnv is the environment in which Node processes tell it, with the options that they have there anyway.
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

// nodeProcess is a Node process as it tells of itself.
type nodeProcess struct {
	Script string            `json:"script"`
	Argv   []string          `json:"argv"`
	Env    map[string]string `json:"env"`
	Cwd    string            `json:"cwd"`
}

// launcherScriptPattern matches the scripts of the launchers themselves.
var launcherScriptPattern = regexp.MustCompile(
	`^(npm|npx|pnpm|pnpx|yarn|yarnpkg|corepack)(-cli)?(-[0-9][0-9a-z.-]*)?(\.[cm]?js)?$`)

// Bounds of what processes tell: a server that is tested could write there as well.
const (
	maxProcessFiles     = 32
	maxProcessFileBytes = 1 << 20
)

// findLaunchedProcess is the one process apart from those of the launcher that has told of itself, in the working
// directory of the server; known is false when there are several, or none.
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

// readNodeProcess is what a process has told in a file; told is false when that is not a whole one. Other files than
// regular ones are not opened: a pipe would never end.
func readNodeProcess(file string) (l nodeProcess, told bool) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nodeProcess{}, false
	}
	raw, err := files.ReadLimited(file, maxProcessFileBytes)
	told = err == nil && json.Unmarshal(raw, &l) == nil && l.Script != "" && len(l.Argv) >= 2
	return l, told
}

// changedEnv is what the launcher has changed in the environment.
func (l nodeProcess) changedEnv() (pairs []string) {
	for _, name := range slices.Sorted(maps.Keys(l.Env)) {
		if value, given := os.LookupEnv(name); !given || value != l.Env[name] {
			pairs = append(pairs, name+"="+l.Env[name])
		}
	}
	return pairs
}

// ReportLauncherCost says where the time went of a run whose processes were started by a launcher each.
func (t *Target) ReportLauncherCost(told Notifier) {
	l := cmp.Or(findLauncher(t.Command), findShellLauncher(t.Command))
	if l == nil || t.skipsLauncher {
		return
	}
	if cost := l.costText(t.DriverTarget.Waits.StartStats()); cost != "" {
		told.PrintNotice(cost)
	}
}

// costText says what so many starts have cost, and what to give in place of the launcher; empty where that is little.
func (l *launcher) costText(starts int, each time.Duration) string {
	if starts < 2 || each < time.Second {
		return ""
	}
	return fmt.Sprintf("%d starts by %s took %.1f s each; %s", starts, l, each.Seconds(), l.replacement)
}
