/** Writes and reads one object of the given size in MiB, and prints the peak memory of the process in bytes. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { openFolder } from '../src/server/compose.ts'
import { BUCKET, drain, OWNER } from './scene.ts'

const MIB = 2 ** 20
const CHUNK_BYTES = 64 * 1024

/** Every chunk is a new buffer, as those of a socket are. */
async function* body(bytes: number): AsyncGenerator<Buffer> {
  const pattern = randomBytes(MIB)
  for (let at = 0; at < bytes; at += CHUNK_BYTES) {
    const from = at % MIB
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
    pattern.copy(chunk, 0, from, from + CHUNK_BYTES)
    yield chunk
  }
}

/** The kernel's high-water mark where available. The other figure may start at the parent's memory. */
function peakBytes(): number {
  const told =
    process.platform === 'linux' ? readFileSync('/proc/self/status', 'utf8').match(/VmHWM:\s+(\d+) kB/) : null
  return 1024 * (told === null ? process.resourceUsage().maxRSS : Number(told[1]))
}

const [folder, sizeMiB] = process.argv.slice(2)
const size = Number(sizeMiB) * MIB
const { store, close } = await openFolder({ folder: folder! })
await store.buckets.create({ name: BUCKET, owner: OWNER, lockEnabled: false })
await store.objects.put({ bucket: BUCKET, key: 'large', owner: OWNER, body: body(size) })
const handle = await store.objects.open({ bucket: BUCKET, key: 'large' })
if ((await drain(handle.read())) !== size) throw new Error('the object was not read whole')
await close()
process.stdout.write(`${peakBytes()}\n`)
