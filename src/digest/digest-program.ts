/** The program of a digest thread. It is sent there as text, so it may use nothing but its parameters. */
import type crypto from 'node:crypto'
import type { Hash } from 'node:crypto'
import type threads from 'node:worker_threads'

export type DigestAlgorithm = 'md5' | 'sha1' | 'sha256'

/** `start` creates a digest, `buffer` adds its first `bytes` bytes, `end` returns the digest or drops it. */
export type DigestCommand =
  | { readonly id: number; readonly start: DigestAlgorithm }
  | { readonly id: number; readonly buffer: ArrayBuffer; readonly bytes: number }
  | { readonly id: number; readonly end: 'digest' | 'drop' }

/** A buffer that has been hashed comes back to be filled again. */
export type DigestReply =
  | { readonly buffer: ArrayBuffer }
  | { readonly id: number; readonly digest: Uint8Array<ArrayBuffer> }

interface Modules {
  readonly threads: Pick<typeof threads, 'parentPort'>
  readonly crypto: Pick<typeof crypto, 'createHash'>
}

export function digestProgram({ threads, crypto }: Modules): void {
  const port = threads.parentPort!
  const hashes = new Map<number, Hash>()
  port.on('message', (command: DigestCommand) => {
    const { id } = command
    if ('start' in command) hashes.set(id, crypto.createHash(command.start))
    else if ('buffer' in command) {
      const { buffer, bytes } = command
      hashes.get(id)?.update(new Uint8Array(buffer, 0, bytes))
      port.postMessage({ buffer }, [buffer])
    } else {
      if (command.end === 'digest') port.postMessage({ id, digest: new Uint8Array(hashes.get(id)!.digest()) })
      hashes.delete(id)
    }
  })
}
