import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFolder } from '../../src/server/compose.ts'
import { transact } from '../../src/store/commit/transaction.ts'
import { appendToLedger } from '../../src/store/ledger/ledger-append.ts'
import { makeBucket, withFolder } from './fixture.ts'

const ENTRIES_PER_COMMIT = 80
const COMMITS = 50

test('requests are served while a long ledger is verified', () =>
  withFolder(async folder => {
    const { store, close } = await openFolder({ folder, durability: 'os' })
    await makeBucket(store, 'bucket', 'locked')
    const refused = { what: 'delete refused', key: 'key', versionId: 'null', reason: 'held' } as const
    const notes = Array.from({ length: ENTRIES_PER_COMMIT }, () => ({ note: refused, by: store.context.actor }))
    for (let i = 0; i < COMMITS; i++) {
      await transact(store.context, tx => appendToLedger(store.context, tx, 'bucket', notes))
    }
    let turns = 0
    const timer = setInterval(() => turns++)
    const { problem, entries } = await store.ledger.verify('bucket')
    clearInterval(timer)
    await close()
    assert.deepEqual([problem, entries], [undefined, 1 + COMMITS * ENTRIES_PER_COMMIT])
    assert(turns >= 4, `${turns} turns of the event loop`)
  }))
