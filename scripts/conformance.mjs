/** `npm run conformance`: regenerates docs/conformance.md from docs/rules, the source and the names of the tests. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, installMissing, ROOT } from './runtime.mjs'

installMissing()
build()
const { conformance } = await import('../dist/test/conformance.js')
writeFileSync(join(ROOT, 'docs', 'conformance.md'), conformance(ROOT))
