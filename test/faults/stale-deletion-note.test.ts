import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { Reclaimer } from '../../src/maintenance/reclaim.ts'
import { counts } from '../crash/maintenance.ts'
import { complete, isThere, prepareUpload } from '../crash/pages.ts'

/** Two records of parts: their list is written ahead. */
const PARTS = 500
/** Announcing, writing ahead, naming. */
const NAMING_COMMIT = 3

test('content pages that are named while the reclaimer holds their garbage record are kept', async () => {
  const template = await prepareUpload(PARTS)
  let reached = (): void => {}
  let goOn = (): void => {}
  const atNaming = new Promise<void>(resolve => {
    reached = resolve
  })
  const gate = new Promise<void>(resolve => {
    goOn = resolve
  })
  const process = await template.world.start({
    border: async () => {
      if (process.meta.commits !== NAMING_COMMIT) return
      reached()
      await gate
    },
  })
  const { context } = process.store
  const completing = complete(process, template)
  await atNaming
  const ticket = context.readers.enter()
  const reclaimer = new Reclaimer(context)
  assert.equal(await reclaimer.step(), 'idle', 'the note is read, and a reader is in the way')
  goOn()
  await completing
  context.readers.leave(ticket)
  await runUntilIdle(reclaimer)
  await runUntilIdle(reclaimer)
  const problems: string[] = []
  assert(await isThere(process, template, problems))
  assert.deepEqual([...problems, ...(await counts(process.store))], [])
  await template.world.end(process)
})
