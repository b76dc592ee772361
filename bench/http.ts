/** `npm run bench -- http`. docs/performance.md describes the rows. */
import { downloads, sixtyFourMiB, uploads } from './http/large.ts'
import { firstSecond, lists, logging, reads, workers, writes } from './http/small.ts'
import { runSuite } from './suite.ts'

await runSuite('http', {
  'get-4k': reads,
  'put-4k': writes,
  'get-4k-first-second': firstSecond,
  'get-4k-logged-vs-not': logging,
  'list-1000': lists,
  'get-64m': sixtyFourMiB,
  'uploads-64x256m': uploads,
  'slow-downloads-64': downloads,
  'workers-2-vs-1': workers,
})
