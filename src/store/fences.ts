/**
 * The fences of the owner's workers, for a metadata engine that may still be busy with a commit of a process that has
 * died. A worker commits only while its fence stands; the owner takes it down before it counts the worker as dead.
 */
import { WRITER_BYTES } from '../lib/ids.ts'
import { all, at } from './addresses.ts'
import { type Deciding, decide } from './decision.ts'

const NOTHING = Buffer.alloc(0)
const PAGE = 100

export async function putUpFence(engine: Deciding, writer: Buffer): Promise<void> {
  await decide(engine, async d => d.put(at.fence(writer), NOTHING))
}

export async function takeDownFence(engine: Deciding, writer: Buffer): Promise<void> {
  await decide(engine, async d => d.remove(at.fence(writer)))
}

/** Those of the workers that an owner before this one had. */
export async function takeDownAllFences(engine: Deciding): Promise<void> {
  for (;;) {
    const fences = await engine.meta.scan(all.fences(), PAGE)
    if (fences.length === 0) return
    await decide(engine, async d => {
      for (const { key } of fences) d.remove(at.fence(key.subarray(-WRITER_BYTES)))
    })
  }
}
