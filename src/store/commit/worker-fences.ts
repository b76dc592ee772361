/**
 * Fences of the owner's workers, for a metadata engine that may still process a commit of a dead process. A worker can
 * commit only while its fence exists; the owner removes it before it treats the worker as dead.
 */
import { keySuccessor } from '../../lib/bytes.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { Meta } from '../../meta/meta.ts'
import { keyRanges, recordKey } from './record-keys.ts'
import { type TransactionContext, transact } from './transaction.ts'

const PAGE = 100

/** `member` is the server that the worker belongs to. */
export async function registerWorkerFence(context: TransactionContext, writer: Buffer, member: Buffer): Promise<void> {
  await transact(context, async tx => tx.put(recordKey.fence(writer), member))
}

export async function removeWorkerFence(context: TransactionContext, writer: Buffer): Promise<void> {
  await transact(context, async tx => tx.remove(recordKey.fence(writer)))
}

interface WorkerFence {
  readonly writer: Buffer
  readonly member: Buffer
}

async function* workerFences(meta: Meta): AsyncGenerator<WorkerFence> {
  let { start, end } = keyRanges.fences()
  for (;;) {
    const page = await meta.scan({ start, end }, PAGE)
    for (const { key, value } of page) yield { writer: key.subarray(-WRITER_BYTES), member: value }
    if (page.length < PAGE) return
    start = keySuccessor(page.at(-1)!.key)
  }
}

/** Workers that live, as far as their servers do. */
export async function workersOf(meta: Meta, isMember: (id: Buffer) => boolean): Promise<readonly Buffer[]> {
  const writers: Buffer[] = []
  for await (const { writer, member } of workerFences(meta)) if (isMember(member)) writers.push(writer)
  return writers
}

/**
 * Removes fences left by the workers of servers that are gone. Without their server they commit nothing anyway.
 * `isMember` is asked after a fence was found: a server that has just joined registers its workers later than itself.
 */
export async function removeStrayFences(
  context: TransactionContext,
  isMember: (id: Buffer) => Promise<boolean>,
): Promise<void> {
  for await (const { writer, member } of workerFences(context.meta)) {
    if (!(await isMember(member))) await removeWorkerFence(context, writer)
  }
}
