/**
 * The second copy of a server with two workers, killed under load: no false loss is reported, and a rebuild restores
 * the previous state.
 */
import assert from 'node:assert/strict'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { rebuildFolder } from '../../src/server/rebuild.ts'
import { compareWithCopy } from '../../src/server/second-copy.ts'
import { opened, rows } from '../backup/fixture.ts'
import type { Client } from '../http/server.ts'
import { shortOrLong } from '../long.ts'
import { payload, withFolder } from '../store/fixture.ts'
import { BUCKET, Program, ROOT, until } from '../workers/program.ts'
import { round } from './round.ts'

const LANES = 8
const KILLS = shortOrLong(1, 2)
/** Acknowledged changes between two kills. */
const CHANGES = 150

/** Puts and deletes on few names that all lanes share, small and packed, until the server is gone. */
async function load(newClient: () => Client, lane: number, done: { changes: number; isOver: boolean }): Promise<void> {
  let client = newClient()
  for (let n = 0; !done.isOver; n++) {
    // A new connection now and then, so that a replaced worker gets requests.
    if (n % 10 === 9) client = newClient()
    const to = { bucket: BUCKET, path: `/${(lane * 3 + n) % 12}`, as: ROOT }
    try {
      const { status } =
        n % 3 === 2
          ? await client.send({ ...to, method: 'DELETE' })
          : await client.send({ ...to, method: 'PUT', body: payload(n % 2 === 0 ? 300 : 6_000, n) })
      if (status < 300) done.changes++
    } catch {
      // Aborted by a kill; the next request goes to a remaining worker.
    }
  }
}

/** Processes of the newest generation that have journaled commits. */
function writersIn(folder: string): number {
  const copy = join(folder, 'meta-copy')
  const journals = readdirSync(copy).filter(name => name.endsWith('.journal'))
  const newest = journals.sort().at(-1)!.slice(0, 8)
  return journals.filter(name => name.startsWith(newest) && statSync(join(copy, name)).size > 20_000).length
}

async function killUnderLoad(folder: string): Promise<void> {
  const program = await Program.start(folder)
  const done = { changes: 0, isOver: false }
  const lanes = Array.from({ length: LANES }, (_, lane) => load(() => program.client(), lane, done))
  try {
    await until('there is load', () => done.changes >= CHANGES)
    process.kill(program.workers()[0]!, 'SIGKILL')
    // The killed one, the surviving one, and the replacement of the first.
    await until('three have written', () => writersIn(folder) >= 3)
    done.changes = 0
    await until('there is load', () => done.changes >= CHANGES)
  } finally {
    done.isOver = true
    await program.end('SIGKILL')
    await Promise.all(lanes)
  }
}

test('after kill -9 of one or all workers under load there is no finding, and a rebuild restores every row', () =>
  withFolder(async folder => {
    for (let kill = 0; kill < KILLS; kill++) {
      await killUnderLoad(folder)
      const before = await opened(folder, async parts => {
        assert.deepEqual(await compareWithCopy(parts.copy!), [])
        assert.deepEqual(await round(parts), [])
        return rows(parts)
      })
      assert.ok(before.size > 10)
      rmSync(join(folder, 'meta'), { recursive: true })
      const { problems, shortcomings } = await rebuildFolder({ folder, progress() {} })
      assert.deepEqual([problems, shortcomings], [[], []])
      await opened(folder, async parts => assert.deepEqual(await rows(parts), before))
    }
  }))

test('a rebuild right after a kill, before any comparison, restores all but the last rows', () =>
  withFolder(async folder => {
    await killUnderLoad(folder)
    const before = await opened(folder, rows)
    rmSync(join(folder, 'meta'), { recursive: true })
    const { shortcomings } = await rebuildFolder({ folder, progress() {} })
    assert.match(shortcomings.join('\n'), /was cut off/)
    const after = await opened(folder, rows)
    const differing = [...before].filter(([key, value]) => after.get(key) !== value)
    // Rows of a few milliseconds of three processes; a journal that was never written would lack all of them.
    assert.ok(differing.length < before.size / 2, `${differing.length} of ${before.size} rows differ`)
  }))
