/** Bodies that mean nothing to their operation: what a client signed or said of one holds all the same. */
import { createHash } from 'node:crypto'
import { Fault } from '../model/faults.ts'
import { checkContentMd5, decodeContentMd5 } from '../rules/checksum.ts'
import type { IncomingBody } from './context.ts'
import type { Operation, RequestView } from './operation.ts'

const UNREAD_BYTES_MAX = 2 ** 20
const NOTHING = createHash('md5').digest()

/** R104, of a request that has no body. */
export function checkEmptyBody(request: RequestView): void {
  const said = request.header('content-md5')
  if (said !== undefined) checkContentMd5(decodeContentMd5(said), NOTHING)
}

/**
 * Reads what nobody else will read, where that can tell of a difference. Most requests have nothing of the kind, and a
 * body that comes with a question is not worth it.
 */
export function checkUnreadBody(
  { match: { method } }: Operation,
  request: RequestView,
  body: IncomingBody,
): Promise<void> | undefined {
  if (method === 'PUT' || method === 'POST') return undefined
  const isQuestion = method !== 'DELETE'
  if (isQuestion && (body.length ?? 0) > 0) return undefined
  const said = isQuestion ? undefined : request.header('content-md5')
  if (said === undefined) return body.mayDiffer ? passOver(body, undefined) : undefined
  return passOver(body, decodeContentMd5(said))
}

async function passOver({ stream, length }: IncomingBody, claimed: Buffer | undefined): Promise<void> {
  const tooLong = new Fault('MaxMessageLengthExceeded', { MaxMessageLengthBytes: UNREAD_BYTES_MAX })
  if ((length ?? 0) > UNREAD_BYTES_MAX) throw tooLong
  const md5 = createHash('md5')
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size > UNREAD_BYTES_MAX) throw tooLong
    md5.update(chunk)
  }
  if (claimed !== undefined) checkContentMd5(claimed, md5.digest())
}
