/** Errors of a version at the source. */
import { RequestRefused } from '../../s3/responses.ts'

/** The source permanently refuses to return the version. */
export class SourceUnreadable extends Error {}

/** The version was listed but no longer exists. */
export class SourceVanished extends Error {}

/** A clear message for frequent cases, otherwise the server's. */
function reasonOf({ code, message, status }: RequestRefused): string {
  if (code === 'InvalidObjectState') return 'archived: restore it at the source first'
  if (status === 400) return `cannot be read, or only with a customer key (SSE-C): ${message} (${code})`
  return `${message} (${code})`
}

/** Runs a step that reads from the source and translates its errors. */
export async function fromSource<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.isTransient) throw error
    throw error.status === 404 ? new SourceVanished(error.code) : new SourceUnreadable(reasonOf(error))
  }
}

/**
 * Runs a step that reads a subresource of a version that was just read. A 404 does not mean that the version is gone: a
 * server may respond so when it does not support the subresource. A version that exists is never skipped.
 */
export async function aboutVersion<T>(step: () => Promise<T>, stillThere: () => Promise<unknown>): Promise<T> {
  try {
    return await fromSource(step)
  } catch (error) {
    if (!(error instanceof SourceVanished)) throw error
    await stillThere()
    throw new SourceUnreadable(`the source has the version but answers ${error.message} for its attributes`)
  }
}
