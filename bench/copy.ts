/** `npm run bench -- copy`. What the rows mean stands in docs/performance.md. */
import { completions, copies, partCopies } from './sharing.ts'
import { runSuite } from './suite.ts'

await runSuite('copy', {
  'copy-5g-vs-1k': copies,
  'complete-10000': completions,
  'part-copy-5g-vs-5m': partCopies,
})
