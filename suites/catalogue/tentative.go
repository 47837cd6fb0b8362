package catalogue

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// release is a release without its patch version: 1.4.
type release struct{ major, minor int }

// parseRelease parses the release at the beginning of a version: 1.4, 1.4.2 or 1.4.2-rc.1.
func parseRelease(version string) (m release, err error) {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return m, fmt.Errorf("invalid release %q (want MAJOR.MINOR, as 1.4)", version)
	}
	var wrong, wrongToo error
	m.major, wrong = strconv.Atoi(parts[0])
	m.minor, wrongToo = strconv.Atoi(parts[1])
	if wrong != nil || wrongToo != nil {
		return m, fmt.Errorf("invalid release %q (want MAJOR.MINOR, as 1.4)", version)
	}
	return m, nil
}

func (m release) compare(other release) int {
	return cmp.Or(cmp.Compare(m.major, other.major), cmp.Compare(m.minor, other.minor))
}

// Tentative returns a selector of the requirements whose checks are new in a version of mcpcheck: those with its
// release, or a later one, in Since. For a build without a version, these are those of the newest release in the
// catalogue.
func (c Catalogue) Tentative(version string) Selector {
	now, err := parseRelease(version)
	if err != nil {
		for _, r := range c {
			if since, err := parseRelease(r.Since); err == nil && since.compare(now) > 0 {
				now = since
			}
		}
	}
	return func(r *Requirement) bool {
		since, err := parseRelease(r.Since)
		return err == nil && since.compare(now) >= 0
	}
}
