/** `npm run conformance`: writes docs/conformance.md anew from the names of the tests. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, installMissing, ROOT } from './runtime.mjs'

installMissing()
build()
const { conformanceTable, proofs } = await import('../dist/test/conformance.js')
writeFileSync(join(ROOT, 'docs', 'conformance.md'), conformanceTable(proofs(ROOT)))
