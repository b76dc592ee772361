/** The part of the contract that needs more than one process. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Meta } from './meta.ts'
import { type SuiteTest, utf8, utf8Text } from './suite-driver.ts'

/** Next to this file, with the same extension. */
const CHILD = fileURLToPath(import.meta.url.replace(/suite-processes(\.\w+)$/, 'suite-child$1'))

const FILL_ACKS = 300
const COUNT_EACH = 150
const FRESHNESS_ROUNDS = 300

function startChild(mode: string, where: string, ...rest: readonly string[]): ChildProcess {
  return spawn(process.execPath, [CHILD, mode, where, ...rest], { stdio: ['pipe', 'pipe', 'inherit'] })
}

function onLine(child: ChildProcess, take: (line: string) => void): void {
  createInterface({ input: child.stdout! }).on('line', take)
}

export function processSuite(suiteTest: SuiteTest): void {
  suiteTest('acknowledged commits survive kill -9 and reopening', async opened => {
    const acknowledged: string[] = []
    const child = startChild('fill', opened.where!)
    const gone = once(child, 'exit')
    onLine(child, line => {
      acknowledged.push(line)
      if (acknowledged.length === FILL_ACKS) child.kill('SIGKILL')
    })
    const [code, signal] = await gone
    assert.deepEqual([code, signal], [null, 'SIGKILL'])
    assert.ok(acknowledged.length >= FILL_ACKS)
    const check = async (meta: Meta): Promise<void> => {
      for (const key of acknowledged) assert.ok((await utf8Text(meta, key))?.startsWith(`${key} `), `${key} is lost`)
    }
    await check(opened.meta)
    await opened.meta.close()
    const again = await opened.reopen!()
    try {
      await check(again)
      assert.equal(await again.commit({ checks: [], writes: [{ key: utf8('after'), value: utf8('') }] }), true)
    } finally {
      await again.close()
    }
  })

  suiteTest('two processes that increment one record lose no success', async ({ meta, where }) => {
    const children = [0, 1].map(() => startChild('count', where!, 'shared counter', String(COUNT_EACH)))
    const counted: number[] = []
    for (const child of children) onLine(child, line => counted.push(Number(line)))
    const exits = await Promise.all(children.map(child => once(child, 'close')))
    assert.deepEqual(
      exits.map(([code]) => code),
      [0, 0],
    )
    // First the successes, then the read: it shows which of the two was wrong.
    const expected = Array.from({ length: 2 * COUNT_EACH }, (_, index) => index + 1)
    assert.deepEqual(
      counted.toSorted((one, other) => one - other),
      expected,
    )
    assert.equal(await utf8Text(meta, 'shared counter'), String(2 * COUNT_EACH))
  })

  suiteTest('a read sees commits that another process acknowledged before', async ({ meta, where }) => {
    const child = startChild('echo', where!)
    const gone = once(child, 'exit')
    let busy = true
    // Concurrent reads of this process: a driver that keeps a snapshot for them would return it to others.
    const background = (async () => {
      while (busy) {
        await meta.get(utf8('echo'))
        await new Promise(resolve => setImmediate(resolve))
      }
    })()
    try {
      for (let round = 1; round <= FRESHNESS_ROUNDS; round++) {
        const answer = new Promise<string>(resolve => child.stdout!.once('data', data => resolve(String(data).trim())))
        child.stdin!.write(`${round}\n`)
        assert.equal(await answer, String(round))
        assert.equal(await utf8Text(meta, 'echo'), String(round))
      }
    } finally {
      busy = false
      child.stdin!.end()
      await Promise.all([gone, background])
    }
  })
}
