/** The answer to a request that makes an object. */
import { childrenOf } from '../objects/request.ts'
import { copyTexts as t } from '../texts/copies.ts'

/** Fails without an ETag: an answer that was cut short confirms nothing, and a move would delete its source. */
export function confirmedEtag(root: Element): string {
  const etag = childrenOf(root, 'ETag')[0]?.textContent
  if (!etag) throw new Error(t.noConfirmation)
  return etag
}
