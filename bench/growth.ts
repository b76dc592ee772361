/** `npm run bench -- growth`: a store of ten million objects beside one of ten thousand. */
import { growth, withSizes } from './growth/comparison.ts'
import { runSuiteOn } from './suite.ts'

await runSuiteOn('growth', { 'growth-put-1k': growth }, withSizes)
