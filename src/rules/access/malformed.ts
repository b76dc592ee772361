import { Fault } from '../../model/faults.ts'

/** Names of members and indexes of items, from the top of the document. */
type PolicyPath = readonly (string | number)[]

/** A policy that is not valid, and the part that makes it so. */
export class MalformedPolicy extends Fault {
  readonly path: PolicyPath

  constructor(reason: string, path: PolicyPath = []) {
    super('MalformedPolicy', { reason })
    this.path = path
  }
}

export const malformed = (reason: string): MalformedPolicy => new MalformedPolicy(reason)

/** Adds the place to errors of reading a part. */
export function within<T>(part: string | number, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MalformedPolicy)) throw error
    throw new MalformedPolicy(String(error.detail.reason), [part, ...error.path])
  }
}
