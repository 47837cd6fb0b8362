// Loaded by every Node process of a launcher that is started once: each tells what it runs, and with what of its
// environment launchers set.
const { isMainThread } = require('node:worker_threads')

if (isMainThread) {
  try {
    const ofLaunchers = /^(npm_|pnpm_|berry_|init_cwd$|node$|path$)/i
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => ofLaunchers.test(name)))
    const [node, script, ...rest] = process.argv
    const argv = [node, ...process.execArgv, script, ...rest]
    const told = { script, argv, env, cwd: process.cwd() }
    const file = require('node:path').join(process.env.MCPCHECK_LAUNCHED, process.pid + '.json')
    require('node:fs').writeFileSync(file, JSON.stringify(told), { mode: 0o600 })
  } catch {} // then nothing is known of it
}
