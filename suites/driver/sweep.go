package driver

import (
	"crypto/rand"
)

// cookie marks the environment of every process that this run starts, and so of whatever those start.
var cookie = "MCPCHECK_RUN=" + rand.Text()
