/** Blobs move to another place while workers serve and clients write, through a kill of the whole server. */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { holdfast } from '../cli/program.ts'
import { payload, withFolder } from '../store/fixture.ts'
import { BUCKET, Program, ROOT, until, withProgram } from './program.ts'

const OBJECTS = 120
const CONSOLE = ['--console', '127.0.0.1:0']
/** Enough for filling and verifying: one process starts sooner than three. */
const ALONE = ['--workers', '1']
const sizeOf = (n: number): number => (n % 20 === 0 ? 2 ** 20 + 5000 : 5000 + n)

class Written {
  readonly #bodies = new Map<string, Buffer>()

  async put(program: Program, key: string, body: Buffer): Promise<void> {
    const response = await program.client().send({ method: 'PUT', bucket: BUCKET, path: `/${key}`, as: ROOT, body })
    assert.equal(response.status, 200, key)
    this.#bodies.set(key, body)
  }

  async verify(program: Program): Promise<void> {
    const client = program.client()
    for (const [key, body] of this.#bodies) {
      const { status, body: found } = await client.send({ method: 'GET', bucket: BUCKET, path: `/${key}`, as: ROOT })
      assert.deepEqual([status, found.equals(body)], [200, true], key)
    }
  }
}

const volumesIn = (place: string): string[] =>
  existsSync(join(place, 'volumes')) ? readdirSync(join(place, 'volumes')) : []

test('blobs are moved while workers serve, despite a kill, and the new place suffices afterwards', () =>
  withFolder(async folder => {
    const [data, old, fresh] = [join(folder, 'data'), join(folder, 'old'), join(folder, 'new')]
    const places = ['--blobs', fresh, '--blobs-from', old]
    const env = { HOLDFAST_ROOT_ACCESS_KEY: ROOT.accessKey, HOLDFAST_ROOT_SECRET_KEY: ROOT.secretKey }
    const move = (...more: string[]) => holdfast(['blobs', 'move', '--data', data, ...places, ...more], { env })
    const written = new Written()
    await withProgram(
      data,
      async program => {
        for (let n = 0; n < OBJECTS; n++) await written.put(program, `old-${n}`, payload(sizeOf(n), n))
        assert.equal(await program.end(), 0)
      },
      ...['--blobs', old, ...ALONE],
    )
    await withProgram(
      data,
      async program => {
        await written.put(program, 'between', payload(5000, 1000))
        await until('a blob has moved', () => volumesIn(fresh).length > 0)
        await program.end('SIGKILL')
      },
      ...places,
    )
    const alone = await Program.start(data, '--blobs', fresh).catch((error: Error) => error.message)
    assert.match(String(alone), /are being moved from/)
    await withProgram(
      data,
      async program => {
        for (let n = 0; n < 20; n++) await written.put(program, `new-${n}`, payload(sizeOf(n), n + 500))
        const moved = await move()
        assert.equal(moved.code, 0, moved.out + moved.errors)
        assert.match(moved.out, /complete: start the server without --blobs-from/)
        assert.match((await move('--status')).out, /^moved: /)
        await written.verify(program)
        assert.equal(await program.end(), 0)
      },
      ...[...places, ...CONSOLE],
    )
    const back = await Program.start(data, '--blobs', old).catch((error: Error) => error.message)
    assert.match(String(back), /were moved from/)
    await withProgram(
      data,
      async program => {
        await written.verify(program)
        assert.equal(await program.end(), 0)
      },
      ...['--blobs', fresh, ...ALONE],
    )
    const checked = await holdfast(['fsck', '--deep', '--data', data, '--blobs', fresh], { env })
    assert.deepEqual([checked.code, checked.errors], [0, ''], checked.out)
  }))

test('without a server, the command moves the blobs itself', () =>
  withFolder(async folder => {
    const [data, old, fresh] = [join(folder, 'data'), join(folder, 'old'), join(folder, 'new')]
    const written = new Written()
    await withProgram(
      data,
      async program => {
        for (let n = 0; n < 5; n++) await written.put(program, `key-${n}`, payload(sizeOf(n), n))
        assert.equal(await program.end(), 0)
      },
      ...['--blobs', old, ...ALONE],
    )
    const none = await holdfast(['blobs', 'move', '--data', data, '--blobs', old])
    assert.match(none.errors, /no blobs are being moved: start the server with --blobs NEW --blobs-from OLD/)
    const moved = await holdfast(['blobs', 'move', '--data', data, '--blobs', fresh, '--blobs-from', old])
    assert.equal(moved.code, 0, moved.out + moved.errors)
    await withProgram(data, program => written.verify(program), '--blobs', fresh, ...ALONE)
  }))
