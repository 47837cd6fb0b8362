package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/baseline"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/build"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/config"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/exit"
	"github.com/mcpcheck/mcpcheck/cmd/mcpcheck/internal/hosts"
	"github.com/mcpcheck/mcpcheck/reporters/files"
)

// member is a server of a fleet. It is small, since the fleet keeps all of them in memory.
type member struct {
	file, name string
	// dir is the directory of its reports, with slashes, relative to that of the fleet.
	dir string
	// hasRow says that the member has a current row.
	hasRow bool
	// isFinal says that another run would give the same row.
	isFinal bool
}

// skippedCounts counts what lists contain and a fleet does not test.
type skippedCounts struct {
	disabled       int // number of servers
	withoutServers int // number of files in directories that list no servers
}

// readMembers finds the servers that files and directories list. A file in a directory that cannot be read counts as
// one server that cannot be tested. Directories that another fleet has written, and the written ones, are skipped.
func readMembers(paths, written []string) (members []member, left skippedCounts, err error) {
	seen := map[string]string{} // the file that lists a server, by its name
	add := func(m member) error {
		if first, twice := seen[m.name]; twice {
			return exit.Usagef("server %q is in %s and in %s; a name stands for one server of a fleet, so rename one",
				m.name, first, m.file)
		}
		seen[m.name] = m.file
		m.dir = "servers/" + memberDirName(m.name)
		members = append(members, m)
		return nil
	}
	for _, path := range paths {
		names, whole := []string{path}, files.IsDir(path)
		if whole {
			if names, err = jsonFiles(path, written); err != nil {
				return nil, left, err
			}
		}
		for _, file := range names {
			servers, err := readServers(file)
			var wrong *exit.Error
			switch {
			case err == nil:
			case !whole:
				return nil, left, err
			case errors.As(err, &wrong) && errors.Is(wrong.Cause, hosts.ErrNoServers):
				left.withoutServers++
			default:
				servers = []hosts.Server{{Name: file}}
			}
			for _, s := range servers {
				if s.Disabled {
					left.disabled++
				} else if err := add(member{file: file, name: s.Name}); err != nil {
					return nil, left, err
				}
			}
		}
	}
	if len(members) == 0 {
		return nil, left, exit.Usagef("there are no servers in %s", strings.Join(paths, ", "))
	}
	return members, left, nil
}

// readServers reads the servers of a file.
func readServers(file string) ([]hosts.Server, error) {
	flags := config.HostFlags{File: file}
	servers, _, err := hosts.ReadFiles(flags)
	return servers, err
}

// jsonFiles returns the JSON files of a directory and its subdirectories, as a registry has them, except in the
// directories of but.
func jsonFiles(dir string, but []string) (paths []string, err error) {
	var passed []fs.FileInfo
	for _, path := range but {
		if info, err := os.Stat(path); err == nil {
			passed = append(passed, info)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			info, err := d.Info()
			if err == nil && slices.ContainsFunc(passed, func(p fs.FileInfo) bool { return os.SameFile(p, info) }) {
				return fs.SkipDir
			}
			return err
		case filepath.Ext(path) == ".json":
			paths = append(paths, path)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, exit.Usagef("cannot read the servers: %w", err)
	case len(paths) == 0:
		return nil, exit.Usagef("there is no .json file in the directory %s", dir)
	}
	return paths, nil
}

// memberDirName turns a name into the name of a directory that is valid on every system. It appends a hash to a name
// that it has to change.
func memberDirName(name string) string {
	plain := strings.Trim(invalidDirChars.ReplaceAllString(name, "-"), "-.")
	plain = strings.ToLower(plain[:min(len(plain), 60)])
	if plain == name && plain != "" && !reservedDirPattern.MatchString(plain) {
		return plain
	}
	sum := sha256.Sum256([]byte(name))
	return strings.Trim(plain+"-"+hex.EncodeToString(sum[:4]), "-")
}

var (
	invalidDirChars    = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
	reservedDirPattern = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`) // on Windows
)

// serverCache finds servers by their members. It keeps the file that it read last, since members of one file follow
// each other.
type serverCache struct {
	file    string
	servers map[string]hosts.Server
	err     error
}

func (r *serverCache) find(m member) (hosts.Server, error) {
	if r.file != m.file || r.servers == nil {
		r.file, r.servers = m.file, map[string]hosts.Server{}
		var all []hosts.Server
		all, r.err = readServers(m.file)
		for _, s := range all {
			r.servers[s.Name] = s
		}
	}
	server, ok := r.servers[m.name]
	switch {
	case r.err != nil:
		return server, r.err
	case !ok:
		return server, exit.Usagef("server %q is no longer in %s", m.name, m.file)
	}
	return server, nil
}

// newJob returns the job that tests a server.
func (f *fleet) newJob(m member) job {
	j := job{member: m, memberArgs: f.memberArgs, budget: f.options.Budget}
	var err error
	if j.server, err = f.servers.find(m); err != nil {
		j.server = hosts.Server{EntryErr: err}
	}
	if c := j.server.Config; c != nil {
		j.budget = config.Merge(f.flags.Run, *c).Budget
	}
	j.fingerprint = f.fingerprint(j.server)
	return j
}

// fingerprint identifies a server's entry and how it is tested. A result with another fingerprint is out of date. It
// does not depend on secrets.
func (f *fleet) fingerprint(s hosts.Server) string {
	c := f.config
	if s.Config != nil {
		c = *s.Config
	}
	words := f.memberArgs
	if known, err := files.ReadLimited(c.Baseline, baseline.MaxBytes); err == nil {
		words = append(slices.Clone(words), string(known))
	}
	c.Command, c.URL, c.Env, c.Reports = nil, "", nil, config.ReportFiles{}
	content, err := json.Marshal([]any{
		build.Version(), words, c, s.Name, s.DisplayText(), s.Type, slices.Sorted(maps.Keys(s.Env)),
		slices.Sorted(maps.Keys(s.Headers)), s.Cwd,
		s.EnvFile,
		fmt.Sprint(s.EntryErr),
	})
	if err != nil {
		content = []byte(cmp.Or(s.Name, err.Error()))
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}
