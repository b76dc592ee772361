/** A small disk, filled completely: with bytes, then with records. */
import { join } from 'node:path'
import type { FullReport } from './full-child.ts'
import { LoopMount } from './loop-mount.ts'
import { Program } from './program.ts'
import { judge, type Suite } from './suite.ts'

/** The reserve is a third of it. */
const IMAGE_BYTES = 192 * 2 ** 20

export const diskFull: Suite = {
  name: 'disk-full',
  async run({ scratch }) {
    const mount = LoopMount.make('ext4', scratch, IMAGE_BYTES)
    if (typeof mount === 'string') return { verdict: 'skipped', text: mount }
    try {
      const child = new Program('full-child', [join(mount.folder, 'data')])
      const ending = await child.ended
      const last = child.lines.at(-1)
      if (ending.code !== 0 || last === undefined) {
        return { verdict: 'failed', text: `the process ended with ${ending.signal ?? ending.code}: ${ending.stderr}` }
      }
      const { problems, stored, refusals, removed, retried, backAfterMs } = JSON.parse(last) as FullReport
      const removals = `${removed} removed (${retried} at the second try)`
      const back = `room again after ${Math.ceil(backAfterMs)} ms`
      return judge(problems, `${stored} stored, ${refusals} refused, ${removals}, ${back}`)
    } finally {
      await mount.dispose()
    }
  },
}
