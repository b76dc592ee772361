/** `npm run bench -- copy`. docs/performance.md describes the rows. */
import { completions, copies, partCopies } from './sharing.ts'
import { runSuite } from './suite.ts'

await runSuite('copy', {
  'copy-5g-vs-1k': copies,
  'complete-10000': completions,
  'part-copy-5g-vs-5m': partCopies,
})
