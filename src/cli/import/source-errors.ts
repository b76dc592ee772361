/** What may be wrong with a version at its source, and what follows from it. */
import { SourceRefused } from './answer.ts'

/** The source does not give it out, and asking again will not help. */
export class SourceUnreadable extends Error {}

/** It was listed and is no longer there. */
export class SourceVanished extends Error {}

/** Words for what people meet; anything else in the server's own. */
function reasonOf({ code, message, status }: SourceRefused): string {
  if (code === 'InvalidObjectState') return 'archived: restore it at the source first'
  if (status === 400) return `cannot be read without a key of its own (SSE-C), or at all: ${message} (${code})`
  return `${message} (${code})`
}

/** Runs a step that reads from the source; refusals become what they mean for the import. */
export async function fromSource<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof SourceRefused) || error.isTransient) throw error
    throw error.status === 404 ? new SourceVanished(error.code) : new SourceUnreadable(reasonOf(error))
  }
}

/**
 * Runs a step that reads what belongs to a version which was just read. That there is no such thing does not mean that
 * the version is gone: a server may answer so when it does not know the question. What is there is never passed over.
 */
export async function aboutVersion<T>(step: () => Promise<T>, stillThere: () => Promise<unknown>): Promise<T> {
  try {
    return await fromSource(step)
  } catch (error) {
    if (!(error instanceof SourceVanished)) throw error
    await stillThere()
    throw new SourceUnreadable(`the source has it, but answers ${error.message} to what is asked about it`)
  }
}
