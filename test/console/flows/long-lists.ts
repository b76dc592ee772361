/** Held versions, versions of a key and ledger entries on many pages, and retention of many versions at once. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ROOT } from '../../cli/program.ts'
import { until } from '../../workers/program.ts'
import { assertQuiet } from '../browser.ts'
import { openConsole } from '../visit.ts'
import { putMany } from '../world.ts'

const BUCKET = 'archive'
const HELD = 1200
const visit = openConsole()
const { open, button, signIn } = visit

const rows = () => visit.page.getByRole('rowgroup').nth(1)
const keyAt = (i: number): string => `held/${String(i).padStart(4, '0')}.txt`

async function toEnd(): Promise<void> {
  await rows().focus()
  await visit.page.keyboard.press('End')
}

test('the list of holds reads on until its end', async () => {
  const archive = visit.world.client(BUCKET)
  await archive.requestOnce({ method: 'PUT', headers: [['x-amz-bucket-object-lock-enabled', 'true']] })
  const keys = Array.from({ length: HELD }, (_, i) => keyAt(i))
  const sum = createHash('md5').update('x').digest('base64')
  await putMany(archive, keys, 'x', [
    ['content-md5', sum],
    ['x-amz-object-lock-legal-hold', 'ON'],
  ])
  await open(`/buckets/${BUCKET}/holds`)
  await signIn(ROOT)
  for (const loaded of ['500 versions so far', '1,000 versions so far', '1,200 versions']) {
    await visit.page.getByText(loaded, { exact: true }).waitFor()
    await toEnd()
  }
  await rows()
    .getByRole('link', { name: keyAt(HELD - 1) })
    .waitFor()
  assert((await visit.page.getByRole('row').count()) < 100, 'only rows in view exist')
  await visit.page.keyboard.press('Home')
  await rows()
    .getByRole('link', { name: keyAt(0) })
    .waitFor()
  assertQuiet(visit.watched)
})

test('the list of ledger entries reaches the oldest, and an address any of them', async () => {
  await open(`/ledger/${BUCKET}`)
  await visit.page.getByText('1,201 entries', { exact: true }).waitFor()
  // Rows that turn out to be higher than expected move the end away.
  await until('the oldest entry is in view', async () => {
    await toEnd()
    return rows().getByText('Turned on Object Lock').isVisible()
  })
  await open(`/ledger/${BUCKET}?entry=600`)
  await rows().getByRole('cell', { name: '600', exact: true }).waitFor()
  assertQuiet(visit.watched)
})

test('many versions are retained, and the retention is lifted again', async () => {
  const keys = Array.from({ length: 20 }, (_, i) => `retained/${i}.txt`)
  await putMany(visit.world.client(BUCKET), keys)
  const modes = async (): Promise<unknown[]> => {
    const found: unknown[] = []
    for (const key of keys) {
      const { response } = await visit.world.client(BUCKET).read({ method: 'HEAD', key })
      found.push(response.headers['x-amz-object-lock-mode'])
    }
    return [...new Set(found)]
  }
  await open(`/buckets/${BUCKET}/holds?prefix=retained%2F`)
  const form = visit.page.getByRole('dialog', { name: 'Hold or retain' })
  const count = async (action: string): Promise<void> => {
    await button('Hold or retain…').click()
    await form.getByRole('button', { name: 'Count' }).click()
    await form.getByRole('radio', { name: action }).check()
  }
  await count('Retain until a date')
  await form.getByRole('button', { name: '30 days' }).click()
  await form.getByText(/^20 versions will be retained until .* Only those with/).waitFor()
  await form.getByRole('button', { name: 'Retain 20 versions' }).click()
  await form.getByText('20 versions changed.').waitFor()
  await form.getByRole('button', { name: 'Close' }).last().click()
  await visit.page.getByText('20 versions', { exact: true }).waitFor()
  assert.deepEqual(await modes(), ['GOVERNANCE'])
  await count('Lift governance retention')
  await form.getByRole('button', { name: 'Lift for 20 versions' }).click()
  await form.getByText('20 versions changed.').waitFor()
  await form.getByRole('button', { name: 'Close' }).last().click()
  await visit.page.getByText('Nothing that begins with "retained/" is held or retained.').waitFor()
  assert.deepEqual(await modes(), [undefined])
  assertQuiet(visit.watched)
})

test('the versions of one key are read on while one scrolls, and only those in view exist', async () => {
  const often = visit.world.client('often')
  await often.requestOnce({ method: 'PUT' })
  const versioned = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
  await often.requestOnce({ method: 'PUT', query: { versioning: '' }, body: Buffer.from(versioned) })
  await often.requestOnce({ method: 'PUT', key: 'log.txt', body: Buffer.from('the first') })
  await putMany(
    often,
    Array.from({ length: 1500 }, () => 'log.txt'),
  )
  await putMany(often, ['log.txt.old'])
  await open('/buckets/often/object?key=log.txt&tab=versions')
  const timeline = visit.page.getByRole('group', { name: 'Timeline of versions' })
  const items = visit.page.getByRole('list', { name: 'Versions, newest first' }).getByRole('listitem')
  await visit.page.getByText('1,000 loaded').waitFor()
  await until('the oldest version is in view', async () => {
    await timeline.focus()
    await visit.page.keyboard.press('End')
    return items.getByText('9 B').isVisible()
  })
  await visit.page.getByText('1,501 versions').waitFor()
  assert((await items.count()) < 60, 'only versions in view exist')
  await items.last().getByRole('checkbox').check()
  await timeline.focus()
  await visit.page.keyboard.press('Home')
  await items.first().getByText('Current').waitFor()
  await items.first().getByRole('checkbox').check()
  await button('Compare the two selected versions').click()
  await visit.page.getByText('the first', { exact: true }).waitFor()
  assertQuiet(visit.watched)
})
