package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestActionInstall proves that action.yml installs mcpcheck and runs it: from releases that the test makes, tagged in
// a repository that it makes, and from source.
func TestActionInstall(t *testing.T) {
	requireWhole(t, "it builds mcpcheck and archives")
	t.Parallel()
	if r := newActionRunner(t); r.env["RUNNER_ARCH"] == "" {
		t.Skip("there are no releases for this architecture")
	}
	p := newPublisher(t)
	readFile(t, filepath.Join(p.root, ".github", "action", "install.sh")) // so that the test cache depends on it
	for _, release := range []string{"1.2.3", "1.3.0"} {
		archive := p.buildArchive(t, release)
		p.publish(t, release, map[string]string{archiveName: archive, "checksums.txt": checksumLine(archive)})
	}
	p.publish(t, "2.0.0", map[string]string{archiveName: "changed", "checksums.txt": checksumLine("original")})
	p.publish(t, "2.0.1", map[string]string{archiveName: "any", "checksums.txt": ""})
	p.publish(t, "2.0.2", map[string]string{archiveName: "any", "checksums.txt": "0123  " + archiveName + "\n"})
	p.publish(t, "2.0.3", map[string]string{archiveName: "any"})

	for name, test := range map[string]struct {
		// version is the requested version.
		version string
		// ref is what follows the @ in uses; empty means that the action is used by its path.
		ref string
		// git says that the commit of ref is looked up in the repository.
		git bool
		// arch is the architecture of the runner.
		arch string
		// log is a part of the log.
		log    string
		failed bool
	}{
		"uses: ./ is built":                         {log: "mcpcheck devel"},
		"the version that is asked for":             {version: "1.2.3", log: "mcpcheck 1.2.3"},
		"the version that is asked for, with its v": {version: "v1.2.3", log: "mcpcheck 1.2.3"},
		"the newest":                                {version: "latest", log: "mcpcheck 1.3.0"},
		"the source, whatever the ref":              {version: "source", ref: "v1.3.0", log: "mcpcheck devel"},

		"uses: mcpcheck/mcpcheck@v1.3.0":                {ref: "v1.3.0", log: "mcpcheck 1.3.0"},
		"uses: …@v1 is the release that v1 stands on":   {ref: "v1", git: true, log: "mcpcheck 1.2.3"},
		"uses: …@commit of a release":                   {ref: p.releasedCommit, git: true, log: "mcpcheck 1.2.3"},
		"uses: …@commit of no release is built":         {ref: p.unreleasedCommit, git: true, log: "mcpcheck devel"},
		"uses: …@main is built":                         {ref: "main", git: true, log: "mcpcheck devel"},
		"a version that is asked for wins over the ref": {version: "1.2.3", ref: "v1.3.0", log: "mcpcheck 1.2.3"},

		"a version that is none":          {version: "../../evil", failed: true, log: "version is to be"},
		"a version that was not released": {version: "9.9.9", failed: true, log: "cannot download"},
		"a system without a release": {version: "1.2.3", arch: "X86", failed: true, log: "there is no " +
			"release for"},
		"an archive with another checksum": {version: "2.0.0", failed: true, log: "does not have the checksum"},
		"an archive without a checksum":    {version: "2.0.1", failed: true, log: "states no checksum"},
		"an archive with half a checksum":  {version: "2.0.2", failed: true, log: "states no checksum"},
		"a release without checksums":      {version: "2.0.3", failed: true, log: "cannot download"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.git && p.releasedCommit == "" {
				t.Skip("git is not installed")
			}
			t.Parallel()
			r := newActionRunner(t)
			p.configure(t, r, test.ref)
			if test.arch != "" {
				r.env["RUNNER_ARCH"] = test.arch
			}
			status, _ := r.run(t, map[string]string{
				"command": "mcpcheck serve", "args": "--only discover", "summary": "false", "version": test.version,
			})
			if (status != 0) != test.failed || !strings.Contains(r.log.String(), test.log) {
				t.Errorf("status %d, want %q in the log:\n%s", status, test.log, r.log.String())
			}
			program := filepath.Join(r.env["RUNNER_TEMP"], "mcpcheck", executableName)
			if fileExists(program) == test.failed {
				t.Errorf("mcpcheck is there: %v, and the step failed: %v", !test.failed, test.failed)
			}
		})
	}
}

// publisher makes releases, and the repository in which they are tagged.
type publisher struct {
	// root is the root of this repository.
	root string
	dir  string
	// releasedCommit is tagged v1.2.3 and v1; it is empty when Git is not installed.
	releasedCommit string
	// unreleasedCommit is the commit after it, on main.
	unreleasedCommit string
}

const repositoryURL = "https://github.com/mcpcheck/mcpcheck"

// fakeCurlScript is a curl that downloads from the directory of the publisher.
const fakeCurlScript = `#!/usr/bin/env bash
while (($# > 1)); do
	if [[ $1 == --output ]]; then output=$2; fi
	shift
done
path=${1#` + repositoryURL + `/releases/}
case $path in
download/*) path=${path#download/} ;;
latest/download/*) path=v1.3.0/${path#latest/download/} ;;
esac
cp "$RELEASES/$path" "$output"
`

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	p := &publisher{root: root, dir: filepath.ToSlash(t.TempDir())} // with slashes for bash, also on Windows
	writeExecutable(t, filepath.Join(p.dir, "bin", "curl"), fakeCurlScript)
	if _, err := exec.LookPath("git"); err == nil {
		p.makeRepository(t)
	}
	return p
}

func (p *publisher) makeRepository(t *testing.T) {
	t.Helper()
	git := func(args ...string) string {
		return runCommand(t, p.dir, p.gitEnv(), "git", append([]string{"-C", "repository"}, args...)...)
	}
	runCommand(t, p.dir, p.gitEnv(), "git", "init", "-q", "-b", "main", "repository")
	git("commit", "-q", "--allow-empty", "-m", "release 1.2.3")
	git("tag", "-a", "-m", "v1.2.3", "v1.2.3")
	git("tag", "v1")
	p.releasedCommit = git("rev-parse", "HEAD")
	git("commit", "-q", "--allow-empty", "-m", "not released")
	p.unreleasedCommit = git("rev-parse", "HEAD")
}

// gitEnv is the environment in which Git uses the repository of the test, without the configuration of the machine.
func (p *publisher) gitEnv() map[string]string {
	return map[string]string{
		"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_ALLOW_PROTOCOL": "file",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url." + p.dir + "/repository.insteadOf",
		"GIT_CONFIG_VALUE_0": repositoryURL,
		"GIT_AUTHOR_NAME":    "test", "GIT_AUTHOR_EMAIL": "test@localhost",
		"GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test@localhost",
	}
}

var (
	executableName = "mcpcheck" + map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]
	archiveName    = "mcpcheck_" + runtime.GOOS + "_" + runtime.GOARCH + ".tar.gz"
)

// buildArchive returns the archive of a release, with an mcpcheck that has its version.
func (p *publisher) buildArchive(t *testing.T, release string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), executableName)
	runCommand(t, p.root, map[string]string{"CGO_ENABLED": "0", "GOPROXY": "off"}, // as install.sh builds it
		"go", "build", "-trimpath", "-ldflags", "-X main.version="+release, "-o", program, "./cmd/mcpcheck")
	content := readFile(t, program)
	var archive bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&archive, gzip.NoCompression) // compression is slow with the race detector
	if err != nil {
		t.Fatal(err)
	}
	paths := tar.NewWriter(zipped)
	header := &tar.Header{Name: executableName, Mode: 0o755, Size: int64(len(content))}
	if err := paths.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(paths, content)
	if err := errors.Join(err, paths.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.String()
}

// checksumLine returns the line of checksums.txt for an archive.
func checksumLine(archive string) string {
	return fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(archive)), archiveName)
}

// publish makes a release with files.
func (p *publisher) publish(t *testing.T, release string, paths map[string]string) {
	t.Helper()
	for name, content := range paths {
		writeExecutable(t, filepath.Join(p.dir, "releases", "v"+release, name), content)
	}
}

// configure makes a runner download from the publisher; ref is what follows the @ in uses.
func (p *publisher) configure(t *testing.T, r *actionRunner, ref string) {
	t.Helper()
	for name, value := range p.gitEnv() {
		r.env[name] = value
	}
	r.env["RELEASES"] = p.dir + "/releases"
	r.path = []string{filepath.Join(p.dir, "bin")}
	if ref != "" {
		r.values["github.action_ref"], r.values["github.action_repository"] = ref, "mcpcheck/mcpcheck"
	}
}

// runCommand returns the output of a program, which has to succeed.
func runCommand(t *testing.T, dir string, env map[string]string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, cleanEnv(env)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// writeExecutable writes an executable file, and creates its directory.
func writeExecutable(t *testing.T, file, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, []byte(content), 0o755)); err != nil {
		t.Fatal(err)
	}
}
