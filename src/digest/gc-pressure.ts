import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { askCollector } from '../lib/runtime.ts'

/** Where the runtime's collector has to be asked, it is asked whenever so much has come in. */
const BETWEEN_BYTES = 32 * 2 ** 20

let since = 0

/** So many bytes came in, in buffers that nobody uses again. */
export function noteExternalBytes(bytes: number): void {
  if (askCollector === undefined) return
  since += bytes
  if (since < BETWEEN_BYTES) return
  since = 0
  askCollector()
}

interface Transferable {
  /** Since ES2024; Node 20 does not have it. */
  transfer?(bytes: number): unknown
}

/** Less is not worth a message, and may be a part of what the runtime hands out in pieces. */
const BYTES_MIN = 16 * 1024

/** What is sent from a port that is closed goes to nobody, and is not the sender's any more. */
let nowhere: MessagePort | undefined

function sendAway(buffer: ArrayBuffer): void {
  if (nowhere === undefined) {
    nowhere = new MessageChannel().port1
    nowhere.close()
  }
  nowhere.postMessage(undefined, [buffer])
}

/**
 * Nobody will ever look at these bytes, and nobody else has a view of them. Gives back their memory now: what is used
 * again at once is still at hand, and never waits for the collector. Node's collects all there is for every 64 MB of
 * such bytes, which takes more time than anything else that is done with them.
 */
export function releaseBuffer(bytes: Buffer): void {
  if (bytes.length !== bytes.buffer.byteLength || bytes.length < BYTES_MIN) return
  const buffer = bytes.buffer as ArrayBuffer & Transferable
  if (buffer.transfer === undefined) sendAway(buffer)
  else buffer.transfer(0)
}
