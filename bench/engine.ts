/** `npm run bench -- engine`. docs/performance.md describes the rows. */
import { sixtyFourMiB } from './large.ts'
import { lists } from './lists.ts'
import { memory } from './memory.ts'
import { completions, copies } from './sharing.ts'
import { fourKiB, sixtyFourKiB, sync } from './small.ts'
import { runSuite } from './suite.ts'

await runSuite('engine', {
  'sync-4k': sync,
  'put-4k': fourKiB,
  'put-64k': sixtyFourKiB,
  'write-64m': sixtyFourMiB,
  'copy-5g-vs-1k': copies,
  'complete-10000': completions,
  list: lists,
  'memory-5g': memory,
})
