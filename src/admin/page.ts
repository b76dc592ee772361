/**
 * The status page at the root of the admin server: whether the server is ready, and where everything else is. It needs
 * no authentication, so it discloses no more than a health check.
 */
import { createHash } from 'node:crypto'

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem; color: #1d2733 }
h1 { font-size: 1.5rem }
table { border-collapse: collapse; width: 100% }
td { border-top: 1px solid #d5dce4; padding: .5rem .75rem .5rem 0; vertical-align: top }
code { font: .9em ui-monospace, monospace }
.ready { color: #14663b } .waiting { color: #a3261f }
@media (prefers-color-scheme: dark) {
  body { background: #12181f; color: #dde4ec } a { color: #8fbcff } td { border-color: #37424f }
  .ready { color: #6fd39b } .waiting { color: #ff9a92 }
}
`

/** Forbids scripts, forms, external resources and framing. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PLACES: readonly (readonly [string, string])[] = [
  ['<a href="/health/live">/health/live</a>', 'whether the process answers'],
  ['<a href="/health/ready">/health/ready</a>', 'whether requests can be served'],
  ['<code>/metrics</code>', 'metrics for Prometheus, with its token'],
  ['<a href="/openapi.json">/openapi.json</a>', 'every route of the admin API'],
]

const COMMANDS: readonly (readonly [string, string])[] = [
  ['holdfast doctor', 'checks the server and its data folder'],
  ['holdfast bucket list', 'all buckets; <code>bucket info NAME</code> shows the settings of one'],
  ['holdfast explain', 'whether a request is allowed, and why'],
  ['holdfast help', 'all commands'],
]

const row = ([what, meaning]: readonly [string, string]): string => `<tr><td>${what}<td>${meaning}`

export function page(isReady: boolean): string {
  const state = isReady ? '<strong class="ready">ready</strong>' : '<strong class="waiting">not ready</strong>'
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Holdfast</title>
<style>${STYLE}</style>
<h1>Holdfast</h1>
<p>This server is ${state}. Objects are served on another port; this one is for administrators.
<p>The console is not part of this build: <code>npm run build</code> makes it.
<table>
${PLACES.map(row).join('\n')}
</table>
<p>On the command line, with the data folder or with <code>--endpoint</code> and this address:
<table>
${COMMANDS.map(([command, meaning]) => row([`<code>${command}</code>`, meaning])).join('\n')}
</table>
</html>
`
}
