package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/reporters"
)

// fleetMember is a server of a fleet: no more of it is kept than where it stands.
type fleetMember struct {
	file, name string
	dir        string // of its reports, with slashes, in that of the fleet
	hasRow     bool   // there is a row of it
	isFinal    bool   // which would come out the same again
}

// skippedCounts is what a list has and a fleet does not judge.
type skippedCounts struct {
	disabled       int // servers
	withoutServers int // files of a directory that list no servers
}

// readMembers finds the servers that files and directories list. In a directory a file that cannot be read is one
// server that cannot be judged, and what another fleet has written to those that are named is passed over.
func readMembers(paths, written []string) (members []fleetMember, left skippedCounts, err error) {
	seen := map[string]string{} // the file, by name
	add := func(m fleetMember) error {
		if first, twice := seen[m.name]; twice {
			return usageErrorf("server %q is in %s and in %s; a name stands for one server of a fleet, so rename one",
				m.name, first, m.file)
		}
		seen[m.name] = m.file
		m.dir = "servers/" + memberDirName(m.name)
		members = append(members, m)
		return nil
	}
	for _, path := range paths {
		files, whole := []string{path}, reporters.IsDir(path)
		if whole {
			if files, err = jsonFiles(path, written); err != nil {
				return nil, left, err
			}
		}
		for _, file := range files {
			servers, err := readServers(file)
			var wrong *exitError
			switch {
			case err == nil:
			case !whole:
				return nil, left, err
			case errors.As(err, &wrong) && errors.Is(wrong.cause, errNoServers):
				left.withoutServers++
			default:
				servers = []hostServer{{name: file}}
			}
			for _, s := range servers {
				if s.Disabled {
					left.disabled++
				} else if err := add(fleetMember{file: file, name: s.name}); err != nil {
					return nil, left, err
				}
			}
		}
	}
	if len(members) == 0 {
		return nil, left, usageErrorf("there are no servers in %s", strings.Join(paths, ", "))
	}
	return members, left, nil
}

// readServers reads the servers of a file.
func readServers(file string) ([]hostServer, error) {
	hosts := hostFlags{file: file}
	servers, _, err := hosts.read()
	return servers, err
}

// jsonFiles are the JSON files of a directory and those below, such as a registry's, but for those in some directories.
func jsonFiles(dir string, but []string) (files []string, err error) {
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
			files = append(files, path)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, usageErrorf("cannot read the servers: %w", err)
	case len(files) == 0:
		return nil, usageErrorf("there is no .json file in the directory %s", dir)
	}
	return files, nil
}

// memberDirName is a name as that of a directory: where it would not be one everywhere, or be that of another, a hash
// tells it apart.
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

// reader finds servers again one after the other: it keeps the file that it has read last.
type serverCache struct {
	file    string
	servers map[string]hostServer
	err     error
}

func (r *serverCache) find(m fleetMember) (hostServer, error) {
	if r.file != m.file || r.servers == nil {
		r.file, r.servers = m.file, map[string]hostServer{}
		var all []hostServer
		all, r.err = readServers(m.file)
		for _, s := range all {
			r.servers[s.name] = s
		}
	}
	server, ok := r.servers[m.name]
	switch {
	case r.err != nil:
		return server, r.err
	case !ok:
		return server, usageErrorf("server %q is no longer in %s", m.name, m.file)
	}
	return server, nil
}

// newJob is what is to be done for a server.
func (f *fleet) newJob(m fleetMember) job {
	j := job{fleetMember: m, memberArgs: f.memberArgs, budget: f.options.Budget}
	var err error
	if j.server, err = f.servers.find(m); err != nil {
		j.server = hostServer{entryErr: err}
	}
	if c := j.server.config; c != nil {
		j.budget = mergeConfig(f.flags.run, *c).Budget
	}
	j.fingerprint = f.fingerprint(j.server)
	return j
}

// fingerprint tells a server as it is listed, and how it is judged, from others: what was judged under another one is
// judged again. Secrets are not in it.
func (f *fleet) fingerprint(s hostServer) string {
	c := f.config
	if s.config != nil {
		c = *s.config
	}
	words := f.memberArgs
	if baseline, err := readLimited(c.Baseline, maxBaselineBytes); err == nil {
		words = append(slices.Clone(words), string(baseline))
	}
	c.Command, c.URL, c.Env, c.Reports = nil, "", nil, reportFiles{}
	text, err := json.Marshal([]any{
		toolVersion(), words, c, s.name, s.displayText(), s.Type, sortedKeys(s.Env), sortedKeys(s.Headers), s.Cwd,
		s.EnvFile,
		fmt.Sprint(s.entryErr),
	})
	if err != nil {
		text = []byte(cmp.Or(s.name, err.Error()))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
