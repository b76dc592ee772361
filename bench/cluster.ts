/** `npm run bench -- cluster`. docs/performance.md describes the rows. */
import { compared } from './cluster/compared.ts'
import { renewals } from './cluster/members.ts'
import { withStage } from './cluster/stage.ts'
import { WORKLOADS } from './cluster/workloads.ts'
import { runSuiteOn } from './suite.ts'

await runSuiteOn(
  'cluster',
  { ...Object.fromEntries(WORKLOADS.map(workload => [workload.name, compared(workload)])), 'renew-100': renewals },
  withStage,
)
